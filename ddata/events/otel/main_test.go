package otel_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tree prints spans: each below its parent, in the order of their begins.
func tree(spans tracetest.SpanStubs) string {
	slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	var b strings.Builder
	var below func(parent trace.SpanID, depth int)
	below = func(parent trace.SpanID, depth int) {
		for _, s := range spans {
			if s.Parent.SpanID() == parent {
				fmt.Fprintf(&b, "%s%s %v\n", strings.Repeat("  ", depth), s.Name, node(s))
				below(s.SpanContext.SpanID(), depth+1)
			}
		}
	}
	below(trace.SpanID{}, 0)
	return b.String()
}

// node is the name of the node that has ended a span.
func node(s tracetest.SpanStub) string {
	for _, a := range s.Resource.Attributes() {
		if a.Key == "node" {
			return a.Value.AsString()
		}
	}
	return "?"
}
