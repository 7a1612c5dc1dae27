package projection

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/events/eventstest"
	"github.com/coterie-go/coterie/sharding/daemon"
)

// patience is far more than anything takes where the processor is free.
const patience = 90 * time.Second

// until waits until something is so.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	end := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("in vain: %s", what)
		}
	}
}

// quick has workers start and restart soon.
func quick(d *daemon.Config) {
	d.KeepAliveInterval, d.KeepAliveThrottle = 200*time.Millisecond, time.Millisecond
}

// Three nodes carry a projection, under load: it is rescaled, and a node is killed. No event is left
// out. The metrics of the nodes together say what happened, and are those of the table.
func TestNodes(t *testing.T) {
	meters := make([]*eventstest.Meter, 3)
	nodes := ddatatest.StartWith(t, 3, func(i int, c *ddata.Config) {
		meters[i] = eventstest.NewMeter("coterie_projection_", "name")
		c.Roles, c.Meter = []string{"backend"}, meters[i]
	})
	j, d, o := newJournal(), newDiary(), &Memory{}
	cfg := settings(j, AtLeastOnce(o, d.handle))
	cfg.Adapt, cfg.LookInterval, cfg.SaveInterval = quick, 50*time.Millisecond, 50*time.Millisecond
	var all []*Projection[added]
	for _, n := range nodes {
		p, err := Start(n, cfg)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	running := func(ps ...*Projection[added]) func() bool {
		return func() bool {
			n := 0
			for _, p := range ps {
				for _, s := range p.Status() {
					if s.Phase == Running {
						n++
					}
				}
			}
			return n == 16
		}
	}
	stored := func() bool {
		n, err := all[0].Behind(ctx, 1)
		return n == 0 && err == nil
	}
	load := func() { j.add(t, names(50)...) }
	until(t, "all parts run", running(all...))
	load()
	if err := all[0].Rescale(ctx, 7); err != nil {
		t.Fatal(err)
	}
	load()
	until(t, "all parts run", running(all...))
	if err := all[1].Rescale(ctx, 2); err != nil {
		t.Fatal(err)
	}
	load()
	until(t, "all is saved", stored)
	sum := func(series string) (n int) {
		for _, m := range meters {
			n += m.Values()[series]
		}
		return n
	}
	if n := sum("events_total"); n < 150 {
		t.Errorf("%d events are counted", n)
	}
	until(t, "the parts are counted", func() bool { return sum("parts") == 16 })
	if sum("saves_total") == 0 {
		t.Error("no save is counted")
	}
	eventstest.CheckTable(t, meters...)
	if err := all[0].Rescale(ctx, 6); err != nil {
		t.Fatal(err)
	}
	_ = nodes[2].Close()
	if err := nodes[0].Down(nodes[2].UID()); err != nil {
		t.Fatal(err)
	}
	load()
	until(t, "all parts run on two nodes", running(all[0], all[1]))
	load()
	until(t, "all is saved", stored)
	if err := d.gap(j.ends); err != nil {
		t.Error(err)
	}
	if err := all[0].Rescale(ctx, 17); err == nil {
		t.Error("more workers than parts")
	}
}

// Calls of a projection reach all nodes.
func TestCalls(t *testing.T) {
	node := ddatatest.Start(t, "backend")[0]
	j, d, o := newJournal(), newDiary(), &Memory{}
	cfg := settings(j, AtLeastOnce(o, d.handle))
	cfg.Adapt, cfg.LookInterval, cfg.Parts = quick, 10*time.Millisecond, 4
	cfg.SaveInterval = 10 * time.Millisecond
	p, err := Start(node, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	behind := func(want int) func() bool {
		return func() bool {
			n, err := p.Behind(ctx, 1000)
			return n == want && err == nil
		}
	}
	j.add(t, names(30)...)
	until(t, "all is saved", behind(0))
	if err := p.Pause(ctx); err != nil {
		t.Fatal(err)
	}
	until(t, "all parts are paused", func() bool {
		for _, s := range p.Status() {
			if s.Phase != Paused {
				return false
			}
		}
		return len(p.Status()) == 4
	})
	j.add(t, names(10)...)
	if !behind(10)() {
		t.Error("it is not 10 events behind")
	}
	if n, err := p.Behind(ctx, 3); n != 3 || err != nil {
		t.Error(n, err)
	}
	if err := p.Reset(ctx, ""); err != nil {
		t.Fatal(err)
	}
	if !behind(40)() {
		t.Error("it is not 40 events behind after a reset")
	}
	if err := p.Resume(ctx); err != nil {
		t.Fatal(err)
	}
	until(t, "all is saved again", behind(0))
	s, err := p.Stored(ctx)
	var handled uint64
	for _, x := range s.Parts {
		handled += x.Progress.Handled
	}
	if handled != 40 || d.calls.Load() != 70 || err != nil {
		t.Errorf("%d handled since the reset, %d calls, %v", handled, d.calls.Load(), err)
	}
	if _, err := Start(node, Config[added]{Name: "x"}); err == nil {
		t.Error("an incomplete configuration is started")
	}
	for _, s := range p.Status() {
		if fmt.Sprint(s.Phase) != "running" || s.Failure != nil {
			t.Errorf("%+v", s)
		}
	}
}
