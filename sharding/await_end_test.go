package sharding

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// An end in order waits for the result; one by force does not, and the question is answered.
func TestEndsOfWhatAwaits(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var d desk
		g, _ := localRegion(t, clerks(&d))
		answer := askAside(t, g, "a", "1")
		a := <-d.waits
		s := shardOf(g, "a")
		s.Passivate("a", protocol.CauseRequest)
		drained := false
		s.Drain(func() { drained = true })
		synctest.Wait()
		if d.stopped > 0 || drained {
			t.Errorf("stopped %d, drained %v with an unfinished message", d.stopped, drained)
		}
		a.Continue(replies("in order"))
		if got := <-answer; got != (gotReply{"in order", nil}) {
			t.Error(got)
		}
		synctest.Wait()
		if d.stopped != 1 || !drained {
			t.Errorf("stopped %d, drained %v", d.stopped, drained)
		}
		s.Resume()

		answer = askAside(t, g, "a", "2")
		a = <-d.waits
		if err := g.Tell(t.Context(), "a", addItem{}); err != nil {
			t.Fatal(err)
		}
		var left []any
		s.Shut(func(_ *entities.Entity, env mailbox.Envelope, _ uint32) { left = append(left, env.Msg) })
		if got := <-answer; !errors.Is(got.err, ErrHandler) {
			t.Error(got)
		}
		synctest.Wait()
		if a.Continue(replies("late")) || d.stopped != 1 || !slices.Equal(left, []any{addItem{}}) {
			t.Errorf("stopped %d, left %v", d.stopped, left)
		}
	})
}

// What waits for a result when its node loses the lease goes on when that is back, with another
// Context.
func TestAwaitOverALostLease(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var d desk
		g, lease := localRegion(t, clerks(&d))
		answer := askAside(t, g, "a", "1")
		a := <-d.waits
		lease.lost.Store(true)
		a.Continue(replies("held"))
		synctest.Wait()
		if len(answer) > 0 {
			t.Error("answered without the lease:", <-answer)
		}
		lease.lost.Store(false)
		if got := <-answer; got != (gotReply{"held", nil}) {
			t.Error(got)
		}
	})
}

// A failure that escalates ends what waits for results in its shard.
func TestEscalateEndsWhatAwaits(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var d desk
		typ := clerks(&d)
		typ.Shards, typ.Supervision.Decide = 1, Always(Escalate)
		g, _ := localRegion(t, typ)
		first := askAside(t, g, "a", "1")
		a := <-d.waits
		second := askAside(t, g, "b", "2")
		d.result(restFails)
		for _, answer := range []<-chan gotReply{first, second} {
			if got := <-answer; !errors.Is(got.err, ErrHandler) {
				t.Error(got)
			}
		}
		if a.Continue(none) || d.stopped > 0 {
			t.Errorf("the result counts, or %d were stopped", d.stopped)
		}
	})
}

// An incarnation whose Stop waits for a result ends after that, once. What comes meanwhile is for the
// next one.
func TestStopAwaits(t *testing.T) {
	faults := maps.Clone(faults)
	faults["nothing"] = none
	for name, rest := range faults {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				d := desk{saves: true}
				typ := clerks(&d)
				var failures []Failure
				typ.OnEvent = onEvent(func(f Failure) { failures = append(failures, f) })
				g, _ := localRegion(t, typ)
				if _, err := Ask(t.Context(), g.Ref("a"), total{}); err != nil {
					t.Fatal(err)
				}
				shardOf(g, "a").Passivate("a", protocol.CauseRequest)
				saved := <-d.waits
				answer := askAside(t, g, "a", "1")
				synctest.Wait()
				if len(d.waits) > 0 || d.made != 1 || shardOf(g, "a").Active() != 1 {
					t.Fatal("the next incarnation has not waited")
				}
				saved.Continue(rest)
				d.result(replies("one"))
				if got := <-answer; got != (gotReply{"one", nil}) || d.made != 2 || d.stopped != 1 {
					t.Errorf("%v; %d made, %d stopped", got, d.made, d.stopped)
				}
				if want := name != "nothing"; (len(failures) == 1) != want ||
					want && !strings.Contains(failures[0].Err.Error(), "in Stop") {
					t.Error(failures)
				}
			})
		})
	}
}

// A stop by force does not wait for Stop, or for New.
func TestForceOfStopAndNew(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		d := desk{saves: true}
		g, _ := localRegion(t, clerks(&d))
		if _, err := Ask(t.Context(), g.Ref("a"), total{}); err != nil {
			t.Fatal(err)
		}
		s := shardOf(g, "a")
		s.Passivate("a", protocol.CauseRequest)
		saved := <-d.waits
		s.Find("a").Force()
		synctest.Wait()
		if saved.Continue(none) || d.stopped != 1 || s.Count() != 0 {
			t.Errorf("%d stopped, %d entities left", d.stopped, s.Count())
		}

		d.loads = true
		answer := askAside(t, g, "a", "1")
		loaded := <-d.waits
		s.Find("a").Force()
		again := <-d.waits // the message waits for the next incarnation
		again.Continue(none)
		if loaded.Continue(none) {
			t.Error("the result of an incarnation that has ended counts")
		}
		d.result(replies("one"))
		if got := <-answer; got != (gotReply{"one", nil}) || d.stopped != 1 {
			t.Error(got, d.stopped)
		}
	})
}

// Of a shard that has lost its lease with a question unfinished the asker hears, and of one that
// has lost it, and is shut afterwards.
func TestAwaitInAShardWithoutALease(t *testing.T) {
	for _, forced := range []bool{false, true} {
		bubble.Test(t, func(t *testing.T) {
			var d desk
			g, lease := localRegion(t, clerks(&d))
			answer := askAside(t, g, "a", "1")
			a, s := <-d.waits, shardOf(g, "a")
			lease.lost.Store(true)
			if forced {
				s.Find("a").Force()
				synctest.Wait()
			}
			s.Shut(func(*entities.Entity, mailbox.Envelope, uint32) { t.Error("a message is left") })
			if got := <-answer; !errors.Is(got.err, ErrNoLease) {
				t.Error(got)
			}
			synctest.Wait()
			if a.Continue(replies("late")) {
				t.Error("the result counts")
			}
		})
	}
}

// However a result and a stop by force meet, the entity ends or answers, and goes on.
func TestResultMeetsForce(t *testing.T) {
	var d desk
	g, _ := localRegion(t, clerks(&d))
	s := shardOf(g, "a")
	for range 500 {
		answer := askAside(t, g, "a", "")
		a := <-d.waits
		var both sync.WaitGroup
		both.Go(s.Find("a").Force)
		both.Go(func() { a.Continue(replies("one")) })
		both.Wait()
		if got := <-answer; got != (gotReply{"one", nil}) && !errors.Is(got.err, ErrHandler) {
			t.Fatal(got)
		}
	}
	if _, err := Ask(within(t, 10*time.Second), g.Ref("a"), total{}); err != nil {
		t.Error(err)
	}
}
