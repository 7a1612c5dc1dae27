package recent

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/events/eventstest"
)

var (
	mTook = &events.Metric{
		Name: "test_took_seconds", Kind: events.Histogram, Labels: []string{"op"}, Buckets: []float64{.001, .01, .1},
	}
	mDepth = &events.Metric{Name: "test_depth", Kind: events.Gauge, Labels: []string{"of"}}
	mDone  = &events.Metric{Name: "test_done_total", Kind: events.Counter, Labels: []string{"of"}}
)

// Distributions tell of the last minute: what is older goes when the time was turned over twice.
func TestRecent(t *testing.T) {
	now := time.Unix(1000, 0)
	next := eventstest.NewMeter("")
	m := newMeter(next, func() time.Time { return now })
	get := m.Histogram(mTook, "get")
	observe := func(n int, seconds float64) {
		for range n {
			get.Observe(context.Background(), seconds)
		}
	}
	look := func() (time.Duration, Distribution) {
		t.Helper()
		over, all := m.Recent()
		if len(all) == 0 {
			return over, Distribution{}
		}
		if len(all) != 1 || all[0].Metric != mTook || !slices.Equal(all[0].Labels, []string{"get"}) {
			t.Fatalf("%+v", all)
		}
		return over, all[0]
	}
	m.Histogram(mTook, "update") // nothing is observed of it: it is left out
	observe(90, .0005)
	observe(10, .05)
	now = now.Add(10 * time.Second)
	over, d := look()
	if over != 10*time.Second || d.Count != 100 || math.Abs(d.P50-.001*50/90) > 1e-9 ||
		math.Abs(d.P99-(.01+.09*9/10)) > 1e-9 || d.Beyond {
		t.Errorf("after %v: %+v", over, d)
	}
	now = now.Add(half)
	if over, d = look(); over != 40*time.Second || d.Count != 100 {
		t.Errorf("after the first turn: %v %+v", over, d)
	}
	observe(5, 7)
	if _, d = look(); d.Count != 105 || !d.Beyond || d.P99 != .1 {
		t.Errorf("of what is above all bounds: %+v", d)
	}
	now = now.Add(half)
	if over, d = look(); over != half || d.Count != 5 || d.P50 != .1 {
		t.Errorf("after the second turn: %v %+v", over, d)
	}
	now = now.Add(half)
	if over, d = look(); d.Count != 0 {
		t.Errorf("after the third turn: %v %+v", over, d)
	}
	if n := next.Values()["test_took_seconds op=get"]; n != 105 {
		t.Errorf("%d observations were handed on", n)
	}
}

// Values are read when somebody looks, here and behind, until the reader is cancelled.
func TestValues(t *testing.T) {
	next := eventstest.NewMeter("")
	m := New(next)
	cancel := m.Read(func(report func(*events.Metric, float64, ...string)) {
		report(mDepth, 7, "b")
		report(mDepth, 3, "a")
		report(mDone, 5, "a")
	})
	gauges := func(x *events.Metric) bool { return x.Kind == events.Gauge }
	all := m.Values(gauges)
	if len(all) != 2 || all[0].Labels[0] != "a" || all[0].Value != 3 || all[1].Value != 7 {
		t.Errorf("%+v", all)
	}
	if next.Readers() != 1 {
		t.Error("the Meter behind reads nothing")
	}
	cancel()
	if all := m.Values(gauges); len(all) != 0 || next.Readers() != 0 {
		t.Errorf("%+v after it was cancelled, %d readers behind", all, next.Readers())
	}
	alone := New(nil)
	alone.Histogram(mTook, "get").Observe(context.Background(), 1)
	alone.Read(func(func(*events.Metric, float64, ...string)) {})()
	if _, all := alone.Recent(); len(all) != 1 {
		t.Errorf("without a Meter behind: %+v", all)
	}
}

func BenchmarkObserve(b *testing.B) {
	o := New(nil).Histogram(mTook, "get")
	for b.Loop() {
		o.Observe(context.Background(), .05)
	}
}
