package telemetry

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The bench runs, and a span of a handler has the number of the one that sent its message.
func TestRun(t *testing.T) {
	p := &Propagator{}
	if err := Run(t.Context(), time.Millisecond, []Case{{Name: "off"}, {Name: "handed-on", Tracer: p}}); err != nil {
		t.Fatal(err)
	}
	if n := p.last.Load(); n < 2*batch {
		t.Errorf("%d spans", n)
	}
	ctx, _ := p.Start(t.Context(), 0, "")
	got, err := p.Extract(t.Context(), p.Inject(ctx, nil))
	if err != nil || got.Value(atKey{}) != ctx.Value(atKey{}) {
		t.Errorf("%v has come as %v: %v", ctx.Value(atKey{}), got.Value(atKey{}), err)
	}
}
