package daemon

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/events/eventstest"
)

// What the nodes report together is what runs, and what the table in design.md lists; a
// node that has ended reports nothing.
func TestMetrics(t *testing.T) {
	meters := []*eventstest.Meter{
		eventstest.NewMeter("coterie_daemon_", "name"), eventstest.NewMeter("coterie_daemon_", "name"),
	}
	ns := ddatatest.StartWith(t, 2, func(i int, c *ddata.Config) { c.Roles, c.Meter = []string{"backend"}, meters[i] })
	w := newWatch()
	var ps []*Process
	for i, n := range ns {
		run := w.run(i + 1)
		p, err := Start(n, Config{
			Name: "workers", Role: "backend",
			Count: 3, WorkersMax: 8, KeepAliveInterval: 50 * time.Millisecond, KeepAliveThrottle: time.Millisecond,
			Run: func(ctx context.Context, x Worker) error {
				if x.Revision == 1 && x.Number == 4 {
					return errors.New("it cannot")
				}
				return run(ctx, x)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		ps = append(ps, p)
	}
	ctx := within(t, time.Minute)
	sum := func(series string) int { return meters[0].Values()[series] + meters[1].Values()[series] }
	until := func(series string, ok func(int) bool) {
		t.Helper()
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for !ok(sum(series)) {
			select {
			case <-tick.C:
			case <-ctx.Done():
				t.Fatalf("%s is %d", series, sum(series))
			}
		}
	}
	is := func(want int) func(int) bool { return func(v int) bool { return v == want } }
	atLeast := func(want int) func(int) bool { return func(v int) bool { return v >= want } }

	until("workers", is(3))
	if n := sum("workers_wanted"); n != 3 {
		t.Errorf("%d are wanted", n)
	}
	if n := sum("failures_total"); n != 0 {
		t.Errorf("%d have failed", n)
	}
	if err := ps[0].Rescale(ctx, 5); err != nil {
		t.Fatal(err)
	}
	until("workers", is(4)) // the fifth always fails
	until("failures_total", atLeast(2))
	until("starts_total", atLeast(3+4+2))
	until("keep_alives_total", atLeast(3+5+5))
	until("workers_wanted", is(5))
	until("rescales_total", is(1))
	until("rescaling", is(0))
	eventstest.CheckTable(t, meters...)

	if err := ns[1].Leave(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, still := meters[1].Values()["workers"]; still {
		t.Error("a node that has left is read")
	}
	until("workers", is(4))
}
