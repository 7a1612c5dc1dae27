package leases_test

import (
	"context"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/proptest/sim/clock"
	"github.com/coterie-go/coterie/proptest/sim/leases"
	"github.com/coterie-go/coterie/proptest/sim/queue"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/trace"
)

// world has holders that wait by letting time pass.
type world struct {
	now      int64
	q        queue.Queue[leases.Holder]
	trace    trace.Trace
	troubles bool
}

func (w *world) Now() int64     { return w.now }
func (w *world) Healed() bool   { return !w.troubles }
func (w *world) String() string { return "world" }

func (w *world) After(d time.Duration, owner leases.Holder, run func()) {
	w.q.Push(w.now+int64(d), owner, run)
}

// pass lets time pass, and what is due happen.
func (w *world) pass(d time.Duration) {
	over := false
	w.q.Push(w.now+int64(d), nil, func() { over = true })
	for !over {
		e := w.q.Pop()
		if w.now = max(w.now, e.At); e.Owner == nil || e.Owner.Alive() && !e.Owner.Behind() {
			e.Run()
		}
	}
}

type holder struct {
	w      *world
	slot   int
	dead   bool
	still  bool
	lost   []error
	clocks clock.Clock
}

func (h *holder) String() string   { return "n" }
func (h *holder) Slot() int        { return h.slot }
func (h *holder) Alive() bool      { return !h.dead }
func (h *holder) Behind() bool     { return h.still }
func (h *holder) Time() time.Time  { return h.clocks.Read(h.w.now) }
func (h *holder) Enter(run func()) { run() }

func (h *holder) Wait(ctx context.Context, d time.Duration) error {
	h.w.pass(d)
	return ctx.Err()
}

func setUp(t *testing.T, ttl time.Duration, troubles bool) (*world, *leases.Store, []*holder, []locks.Lock) {
	w := &world{troubles: troubles}
	w.trace = trace.New(nil, &w.now)
	rs := random.Streams{Seed: 1}
	s := leases.New(ttl, w, rs.Stream("lease store", 0), &w.trace)
	var hs []*holder
	var ls []locks.Lock
	for i := range 2 {
		h := &holder{w: w, slot: i, clocks: clock.Draw(rs.Stream("clock", uint64(i)), 0.01, 0)}
		l, err := s.Of(h, nil).Lock("shard/1", "")
		if err != nil {
			t.Fatal(err)
		}
		hs, ls = append(hs, h), append(ls, l)
	}
	return w, s, hs, ls
}

func acquire(t *testing.T, h *holder, l locks.Lock) bool {
	got, err := l.Acquire(context.Background(), func(err error) { h.lost = append(h.lost, err) })
	if err != nil {
		t.Error(err)
	}
	return got
}

// TestOneHolderAtATime: a lease goes to another only when it was given back.
func TestOneHolderAtATime(t *testing.T) {
	w, s, hs, ls := setUp(t, 0, false)
	if !acquire(t, hs[0], ls[0]) || acquire(t, hs[1], ls[1]) || !s.HeldBy("shard/1", hs[0]) {
		t.Fatal("two hold a lease, or none does")
	}
	if until := ls[0].Until(); until != locks.Forever {
		t.Errorf("held until %v", until)
	}
	if err := ls[0].Release(context.Background()); err != nil {
		t.Error(err)
	}
	if w.pass(time.Second); !acquire(t, hs[1], ls[1]) || !ls[0].Until().IsZero() {
		t.Error("what was given back is not there")
	}
	if c := s.Counts(); c.Leased != 2 || c.Lost != 0 {
		t.Errorf("%+v", c)
	}
}

// TestSessionsEnd when their process stands still, and the process knows before another holds.
func TestSessionsEnd(t *testing.T) {
	w, s, hs, ls := setUp(t, 3*time.Second, false)
	if !acquire(t, hs[0], ls[0]) {
		t.Fatal("no lease")
	}
	if w.pass(time.Minute); ls[0].Until().IsZero() || !s.HeldBy("shard/1", hs[0]) {
		t.Fatal("a session that is renewed has ended")
	}
	hs[0].still = true
	for end := w.now + int64(10*time.Second); !acquire(t, hs[1], ls[1]); w.pass(10 * time.Millisecond) {
		if w.now > end {
			t.Fatal("the lease is never free")
		}
	}
	if until := ls[0].Until(); !until.IsZero() {
		t.Errorf("another holds the lease, which its holder believes to have until %v", until)
	}
	hs[0].still = false
	if w.pass(time.Second); len(hs[0].lost) != 1 {
		t.Errorf("told of the loss: %v", hs[0].lost)
	}
}

// TestTheDeadHoldNothing for long.
func TestTheDeadHoldNothing(t *testing.T) {
	w, s, hs, ls := setUp(t, 0, false)
	if !acquire(t, hs[0], ls[0]) {
		t.Fatal("no lease")
	}
	hs[0].dead = true
	s.Ended(hs[0])
	if w.pass(2 * time.Second); !acquire(t, hs[1], ls[1]) {
		t.Error("a dead process holds a lease")
	}
}

// TestTrouble takes leases away and says so, and a rest ends all of it.
func TestTrouble(t *testing.T) {
	w, s, hs, ls := setUp(t, 0, true)
	s.GiveTrouble()
	for range 300 {
		for i, l := range ls {
			if _, err := l.Acquire(context.Background(), func(err error) {
				hs[i].lost = append(hs[i].lost, err)
			}); err != nil {
				continue // there is trouble
			}
		}
		w.pass(time.Second)
	}
	if c := s.Counts(); c.Lost == 0 || int(c.Lost) < len(hs[0].lost)+len(hs[1].lost) || len(hs[0].lost) == 0 {
		t.Errorf("%+v, told of %d and %d", c, len(hs[0].lost), len(hs[1].lost))
	}
	w.troubles = false
	s.Rest()
	for i, l := range ls {
		if _, err := l.Acquire(context.Background(), func(error) {}); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	s.Resume()
}
