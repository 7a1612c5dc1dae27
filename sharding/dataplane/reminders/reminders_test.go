package reminders

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remind"
	"github.com/coterie-go/coterie/sharding/remind/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// gate is a store whose changes wait until it is open.
type gate struct {
	*memory.Store
	open chan struct{}
}

func (g gate) Update(
	ctx context.Context, by singleton.FencingToken, s protocol.ShardID, number uint64, changes []remind.Change,
) error {
	<-g.open
	return g.Store.Update(ctx, by, s, number, changes)
}

// on makes the Reminders of a shard over a store. They end with the test.
func on(t *testing.T, store remind.Store) (r *Reminders, s *entities.Shard) {
	r = New(Config{
		Type: "T", Store: store, Scheduler: scheduler.Goroutines{}, Context: t.Context(),
		Read: time.Minute, Write: time.Minute, Note: func(protocol.Event) {},
		Aside:   func(fn func()) bool { go fn(); return true },
		ShardOf: func(string) uint32 { return 1 },
	})
	r.Start()
	t.Cleanup(r.Stop)
	s = &entities.Shard{Number: 1}
	r.Open(s)
	return r, s
}

// later is a reminder that is not due in a test.
func later() remind.Change {
	at := time.Now().Add(time.Hour)
	return remind.Change{Reminder: remind.Reminder{Entity: "a", Name: "n", Due: at, At: at, Version: 1}}
}

// answer waits for that of a change.
func answer(t *testing.T, q *asked) error {
	t.Helper()
	select {
	case <-q.answered:
		return q.err
	case <-time.After(time.Minute):
		t.Fatal("a change is not answered")
		return nil
	}
}

// Each call of Flush is answered: when what was under way at the time is written, or when the shard
// ends here.
func TestFlush(t *testing.T) {
	for how, end := range map[string]func(r *Reminders, s *entities.Shard, g gate){
		"written":         func(_ *Reminders, _ *entities.Shard, g gate) { close(g.open) },
		"the shard ended": func(r *Reminders, s *entities.Shard, _ gate) { r.Close(s) },
	} {
		t.Run(how, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				g := gate{&memory.Store{}, make(chan struct{})}
				r, s := on(t, g)
				q := r.ask(s, later())
				answers := make(chan int, 3)
				for i := range 2 {
					r.Flush(s, func() { answers <- i })
				}
				synctest.Wait()
				if len(answers) > 0 {
					t.Fatal("Flush is answered while a change is under way")
				}
				end(r, s, g)
				synctest.Wait()
				r.Flush(s, func() { answers <- 2 })
				synctest.Wait()
				if len(answers) != 3 {
					t.Errorf("%d of 3 calls are answered", len(answers))
				}
				<-q.answered
				if how != "written" {
					close(g.open)
				}
			})
		})
	}
}

// numbers is a store that keeps the numbers of updates.
type numbers struct {
	gate
	got *[]uint64
}

func (n numbers) Update(
	ctx context.Context, by singleton.FencingToken, s protocol.ShardID, number uint64, changes []remind.Change,
) error {
	*n.got = append(*n.got, number)
	return n.gate.Update(ctx, by, s, number, changes)
}

// A shard whose stop was taken back starts a second time. What its entities have asked for is answered, and the
// numbers of its updates go on: to its store it is the same hosting.
func TestOpenAgain(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		n := numbers{gate{&memory.Store{}, make(chan struct{})}, &[]uint64{}}
		r, s := on(t, n)
		first := r.ask(s, later())
		synctest.Wait()
		r.Drain(s)
		r.Resume(s)
		r.Open(s)
		second := r.ask(s, later())
		synctest.Wait()
		close(n.open)
		err := errors.Join(answer(t, first), answer(t, second))
		if err != nil || !slices.Equal(*n.got, []uint64{1, 2}) {
			t.Errorf("%v; the updates have the numbers %v", err, *n.got)
		}
	})
}

// What is set later has a higher version, also if the clock of the node before was ahead. What is set at one time has
// different ones.
func TestVersions(t *testing.T) {
	now := time.Date(2027, 1, 15, 12, 0, 0, 0, time.UTC)
	first := versionAfter(0, now, 1<<40|7)
	if other := versionAfter(0, now, 1<<41|9); first == 0 || other == first {
		t.Errorf("%d and %d at one time", first, other)
	}
	if later := versionAfter(0, now.Add(10*time.Millisecond), 0); later <= first {
		t.Errorf("%d comes after %d", later, first)
	}
	for _, before := range []uint64{first, 1<<62 + 1, 1<<62 - 1} {
		const turns = 1000
		if next := versionAfter(before, now.Add(-time.Hour), 0); next <= before+turns {
			t.Errorf("%d replaces %d", next, before)
		}
	}
	if v := versionAfter(math.MaxUint64, now, 0); v == 0 {
		t.Error("a version is 0")
	}
}
