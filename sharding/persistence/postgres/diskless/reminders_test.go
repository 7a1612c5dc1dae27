package diskless

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/coterie-go/coterie/sharding/persistence/postgres/postgrestest"
)

// Alarms ring after all nodes were killed and others were started: those that were due meanwhile, those
// that were not yet, and one that rings again and again. Each had been passivated, and nothing is sent to
// it. Those that were cancelled do not ring.
func TestReminders(t *testing.T) {
	const each = 20
	server := postgrestest.Start(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := found(ctx, t, server)
	c.coordinator()

	began := time.Now()
	soon, later := began.Add(12*time.Second), began.Add(18*time.Second)
	call := func(i int, name, id string, at time.Time, every time.Duration) {
		in := alarmCall{ID: id, At: at, Every: every}
		if err := c.all[i%nodes].Call(ctx, name, in, nil); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]bool{"often": true}
	call(0, "set", "often", began, 300*time.Millisecond)
	for i := range each {
		for what, at := range map[string]time.Time{"soon": soon, "later": later, "cancelled": later} {
			id := fmt.Sprint(what, i)
			call(i, "set", id, at, 0)
			if what == "cancelled" {
				call(i+1, "cancel", id, at, 0)
				continue
			}
			want[id] = true
		}
	}
	c.until("passivation", func() error {
		running := 0
		for _, p := range c.all {
			s, err := c.status(p)
			if err != nil {
				return err
			}
			running += s.Alarms
		}
		if running > 1 { // the one that rings often runs
			return fmt.Errorf("%d alarms run", running)
		}
		return nil
	})
	c.until("the first ring", func() error { return c.rang("often") })
	if !time.Now().Before(soon) {
		t.Fatalf("it took %v to set the alarms: the others have begun to ring", time.Since(began))
	}
	for _, p := range c.all {
		p.Kill()
	}
	if !time.Now().Before(soon) { // what rang in a process that is gone cannot be asked for
		t.Fatalf("it took %v to set the alarms and to kill all: some may have rung before", time.Since(began))
	}
	t.Logf("all were killed %.1f s before the next alarm", time.Until(soon).Seconds())
	c.until("the time of the first alarms", func() error {
		if time.Now().Before(soon) {
			return errors.New("it has not come")
		}
		return nil
	})

	c = found(ctx, t, server)
	for id := range want {
		c.until(id, func() error { return c.rang(id) })
	}
	for _, p := range c.all {
		var all map[string]int
		if err := p.Call(ctx, "rung", nil, &all); err != nil {
			t.Fatal(err)
		}
		for id := range all {
			if !want[id] {
				t.Errorf("%s rings, which was cancelled", id)
			}
		}
	}
	t.Logf("all rang within %.1f s", time.Since(later).Seconds())
}

// rang fails if an alarm has not rung on any node.
func (c *cluster) rang(id string) error {
	for _, p := range c.all {
		var all map[string]int
		if err := p.Call(c.ctx, "rung", nil, &all); err != nil {
			return err
		}
		if all[id] > 0 {
			return nil
		}
	}
	return fmt.Errorf("%s has not rung", id)
}
