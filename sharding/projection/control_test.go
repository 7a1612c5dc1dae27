package projection

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/bubble"
)

// phases counts the parts of some nodes in a phase.
func phases(p Phase, nodes ...*workers[added]) (n int) {
	for _, w := range nodes {
		for _, s := range w.status(time.Now()) {
			if s.Phase == p {
				n++
			}
		}
	}
	return n
}

// A pause stops all parts of all nodes, also without events, within LookInterval; workers that start
// meanwhile do not begin. Nothing was left out, and nothing is handled twice, when it ends.
func TestPause(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		j, d, o := newJournal(), newDiary(), &Memory{}
		cfg := settings(j, AtLeastOnce(o, d.handle))
		cfg.LookInterval = 5 * time.Second
		a, b := newWorkers(t, cfg), newWorkers(t, cfg)
		stop := start(3, a, b)
		j.add(t, names(20)...)
		settle(time.Second)
		if err := o.Pause(t.Context(), "sums", true); err != nil {
			t.Fatal(err)
		}
		settle(time.Second)
		if n := phases(Running, a, b); n != 16 {
			t.Errorf("%d parts run before they look", n)
		}
		settle(10 * time.Second)
		if n := phases(Paused, a, b); n != 16 {
			t.Errorf("%d parts are paused", n)
		}
		j.add(t, names(20)...)
		stop()
		stop = start(2, a)
		settle(time.Minute)
		if n := d.calls.Load(); n != 20 || phases(Paused, a) != 16 {
			t.Errorf("%d events, %d parts are paused", n, phases(Paused, a))
		}
		if err := o.Pause(t.Context(), "sums", false); err != nil {
			t.Fatal(err)
		}
		settle(11 * time.Second)
		if n := phases(Running, a); n != 16 {
			t.Errorf("%d parts run again", n)
		}
		stop()
		if err := errors.Join(d.gap(j.ends), d.double()); err != nil {
			t.Error(err)
		}
		if n := a.figures.failures.Load() + b.figures.failures.Load(); n != 0 {
			t.Errorf("%d failures", n)
		}
	})
}

// After a reset all events come again, also if the parts wait for events when it happens.
func TestReset(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		j, d, o := newJournal(), newDiary(), &Memory{}
		cfg := settings(j, AtLeastOnce(o, d.handle))
		a := newWorkers(t, cfg)
		stop := start(3, a)
		j.add(t, names(20)...)
		settle(time.Minute)
		if err := o.Reset(t.Context(), "sums", 16, ""); err != nil {
			t.Fatal(err)
		}
		settle(10 * time.Second)
		stop()
		for _, id := range names(20) {
			if n := len(d.seqs[id]); n != 2 {
				t.Errorf("%v was handled %d times", id, n)
			}
		}
		if handled, _ := totals(t, o); handled != 20 {
			t.Errorf("%d are counted since the reset", handled)
		}
		if err := o.Reset(t.Context(), "sums", 15, ""); !errors.Is(err, ErrParts) {
			t.Errorf("another number of parts: %v", err)
		}
	})
}

// The lag is the age of the oldest event that waits, and 0 if there is none.
func TestLag(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		j, d, hold := newJournal(), newDiary(), make(chan struct{})
		cfg := settings(j, AtLeastOnce(&Memory{}, bad(d, 2, func(ctx context.Context) error {
			select {
			case <-hold:
			case <-ctx.Done():
			}
			return nil
		})))
		cfg.Parts, cfg.HandleTimeout = 1, time.Hour
		w := newWorkers(t, cfg)
		stop := start(1, w)
		defer stop()
		j.add(t, "e1")
		settle(time.Second)
		if s := w.status(time.Now())[0]; s.Lag != 0 || s.Progress.Handled != 1 || s.Handling != 0 {
			t.Errorf("%+v with nothing to do", s)
		}
		j.add(t, "e1", "e1")
		settle(10 * time.Second)
		if s := w.status(time.Now())[0]; s.Lag != 10*time.Second || s.Handling != 10*time.Second {
			t.Errorf("%+v behind", s)
		}
		close(hold)
		settle(time.Second)
		if s := w.status(time.Now())[0]; s.Lag != 0 || s.Progress.Handled != 3 {
			t.Errorf("%+v after it", s)
		}
	})
}
