package spans

import (
	"context"
	"maps"
	"testing"

	"github.com/coterie-go/coterie/ddata/tracing"
	"github.com/coterie-go/coterie/ddata/tracing/tracingtest"
)

// Each Op has a span with its kind, its name and what it tells of the message.
func TestSpans(t *testing.T) {
	r := tracingtest.New()
	s := New(r, "Cart")
	for op := range ops {
		_, span := s.Begin(context.Background(), op, Subject{ID: "c1", Shard: 7, Msg: 5})
		span.End(nil)
	}
	all := r.Spans()
	if len(all) != int(ops) {
		t.Fatalf("%d spans", len(all))
	}
	for i, got := range all {
		if want := about[i]; got.Kind != want.kind || got.Name != want.name+" Cart" || want.name == "" {
			t.Errorf("%d is %+v", i, got)
		}
	}
	want := map[string]string{
		"messaging.system": "coterie", "messaging.destination.name": "Cart", "messaging.operation.name": "ask",
		"messaging.operation.type": "send", "coterie.entity.id": "c1", "coterie.shard": "7",
		"coterie.message.type": "int",
	}
	if !maps.Equal(all[Ask].Attrs, want) {
		t.Errorf("%v", all[Ask].Attrs)
	}
	if _, does := all[Buffer].Attrs["messaging.operation.type"]; does || all[Buffer].Kind != tracing.Internal {
		t.Errorf("%v", all[Buffer])
	}
	if New(nil, "Cart") != nil {
		t.Error("there are Spans without a Tracer")
	}
}
