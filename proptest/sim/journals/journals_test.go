package journals_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/proptest/sim/journals"
	"github.com/coterie-go/coterie/proptest/sim/queue"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/trace"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// world has holders that wait by letting time pass. It counts what takes effect.
type world struct {
	now    int64
	q      queue.Queue[*holder]
	trace  trace.Trace
	healed bool

	fenced, stored, replaced, saved, deleted int
}

func (w *world) Now() int64     { return w.now }
func (w *world) Healed() bool   { return w.healed }
func (w *world) String() string { return "world" }

func (w *world) After(d time.Duration, owner journals.Holder, run func()) {
	h, _ := owner.(*holder)
	w.q.Push(w.now+int64(d), h, run)
}

// pass lets time pass, and what is due happen.
func (w *world) pass(d time.Duration) { w.until(d, func() bool { return false }) }

// until does so until over reports true.
func (w *world) until(d time.Duration, over func() bool) {
	timeout := false
	w.q.Push(w.now+int64(d), nil, func() { timeout = true })
	for !timeout && !over() {
		e := w.q.Pop()
		w.now = max(w.now, e.At)
		switch h := e.Owner; {
		case h == nil:
			e.Run()
		case h.still:
			h.late = append(h.late, e.Run)
		default:
			e.Run()
		}
	}
}

func (w *world) Fenced(persistence.Hosting)                                         { w.fenced++ }
func (w *world) Stored(persistence.Hosting, protocol.EntityID, persistence.Event)   { w.stored++ }
func (w *world) Replaced(persistence.Hosting, protocol.EntityID, persistence.State) { w.replaced++ }
func (w *world) Saved(persistence.Hosting, persistence.Snapshot)                    { w.saved++ }
func (w *world) Deleted(_ persistence.Hosting, _ protocol.EntityID, upTo uint64)    { w.deleted++ }

type holder struct {
	w     *world
	uid   uint64
	still bool
	late  []func()
}

func (h *holder) String() string   { return "n" }
func (h *holder) Slot() int        { return int(h.uid) }
func (h *holder) UID() uint64      { return h.uid }
func (h *holder) Alive() bool      { return true }
func (h *holder) Enter(run func()) { run() }

func (h *holder) Freeze(d time.Duration) {
	h.still = true
	h.w.After(d, nil, h.Resume)
}

func (h *holder) Resume() {
	h.still = false
	for _, run := range h.late {
		h.w.After(0, h, run)
	}
	h.late = nil
}

// Await lets time pass. It ends nowhere if nothing comes.
func (h *holder) Await(a, b <-chan struct{}) (got int) {
	got = -1
	h.w.until(time.Hour, func() bool {
		select {
		case <-a:
			got = 0
		case <-b:
			got = 1
		default:
		}
		return got >= 0 && !h.still
	})
	return got
}

// timeout is a context that ends by the time of the world.
func (w *world) timeout(d time.Duration) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	w.After(d, nil, cancel)
	return ctx
}

func open(f journals.Faults, d journals.Defects) (*world, *journals.Store, *journals.Door) {
	w := &world{}
	w.trace = trace.New(nil, &w.now)
	if f.Delay == 0 {
		f.Delay = time.Millisecond
	}
	s := journals.New(f, d, w, random.Streams{Seed: 1}.Stream("journals", 0), &w.trace, w)
	return w, s, s.Of(&holder{w: w, uid: 1})
}

func hosting(seq uint64) persistence.Hosting {
	return persistence.Hosting{Type: "t", Token: singleton.FencingToken{Seq: seq}}
}

func write(after, id uint64) []persistence.Write {
	return []persistence.Write{{Entity: "e", After: after, ID: id, Events: []persistence.Event{
		{Seq: after + 1, Name: "n", Version: 1, Body: []byte{1}},
	}}}
}

// last is the number of the last event of the entity.
func last(t *testing.T, s *journals.Store) uint64 {
	t.Helper()
	end, err := s.Contents("t", "e", func(persistence.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	return end.Last
}

// Each fault does what it says, and none does anything once the world has healed.
func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		faults journals.Faults
		stored uint64 // when the call has ended, of one event
		later  uint64 // long after that
	}{
		"fails": {journals.Faults{Fails: 1}, 0, 0},
		"loses": {journals.Faults{Loses: 1}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w, s, d := open(c.faults, journals.Defects{})
			_, err := d.Append(w.timeout(time.Second), hosting(1), write(0, 1))
			if err == nil || errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
			if n := last(t, s); n != c.stored {
				t.Errorf("%d events, want %d", n, c.stored)
			}
			if w.pass(time.Hour); last(t, s) != c.later {
				t.Errorf("%d events long after, want %d", last(t, s), c.later)
			}
			w.healed = true
			if _, err := d.Append(w.timeout(time.Second), hosting(1), write(c.later, 2)); err != nil {
				t.Errorf("in the healed world: %v", err)
			}
			if got := last(t, s); got != c.later+1 || uint64(w.stored) != got {
				t.Errorf("%d events, and the watcher has seen %d", got, w.stored)
			}
		})
	}
}

// Calls that hang end with their context. Some take effect in time, some late, some never.
func TestHangs(t *testing.T) {
	w, s, d := open(journals.Faults{Hangs: 1}, journals.Defects{})
	early, late := 0, 0
	for i := range uint64(200) {
		before := w.stored
		at := last(t, s)
		if _, err := d.Append(w.timeout(time.Second), hosting(1), write(at, i+1)); !errors.Is(err, context.Canceled) {
			t.Fatalf("a call that hangs ended with %v", err)
		}
		early += w.stored - before
		before = w.stored
		w.pass(time.Minute)
		late += w.stored - before
	}
	if c := s.Counts(); early == 0 || late == 0 || early+late > 180 || c.Hung == 0 || c.Late == 0 {
		t.Errorf("%d in time, %d late: %+v", early, late, c)
	}
}

// Of a call of several writes a part takes effect, and its caller does not know.
func TestHalves(t *testing.T) {
	w, s, d := open(journals.Faults{Halves: 1}, journals.Defects{})
	counts := map[int]int{}
	for i := range 100 {
		var all []persistence.Write
		for k := range 2 {
			x := write(0, uint64(i+1))[0]
			x.Entity = protocol.EntityID([]byte{byte(i), byte(k)})
			all = append(all, x)
		}
		before := w.stored
		if _, err := d.Append(w.timeout(time.Second), hosting(1), all); err == nil {
			t.Fatal("no error")
		}
		counts[w.stored-before]++
	}
	if counts[0] == 0 || counts[1] == 0 || counts[2] == 0 || s.Counts().Lost != 100 {
		t.Errorf("writes that took effect: %v, %+v", counts, s.Counts())
	}
}

// A process stands still at its call until another one has begun, and what it has yet to say comes
// too late.
func TestStandsStill(t *testing.T) {
	fenced, stored := 0, 0
	w, s, d := open(journals.Faults{Freezes: 1}, journals.Defects{})
	other := s.Of(&holder{w: w, uid: 2})
	for i := range uint64(60) {
		at := last(t, s)
		w.After(2*time.Second, nil, func() { // the successor's
			w.healed = true
			if err := other.Fence(context.Background(), hosting(i+2)); err != nil {
				t.Error(err)
			}
			w.healed = false
		})
		switch _, err := d.Append(context.Background(), hosting(i+1), write(at, i+1)); {
		case errors.Is(err, persistence.ErrFenced):
			fenced++
		case err == nil:
			stored++
		default:
			t.Fatal(err)
		}
		w.pass(time.Minute)
	}
	if c := s.Counts(); fenced == 0 || stored == 0 || c.Succeeded == 0 || c.Stilled == 0 {
		t.Errorf("%d fenced, %d stored, %+v", fenced, stored, c)
	}
}

// A snapshot that is spoilt comes without a body, or without its end, or does not come. With care
// another one is left.
func TestDamages(t *testing.T) {
	for _, cautious := range []bool{false, true} {
		w, s, d := open(journals.Faults{Damages: 1, Cautious: cautious}, journals.Defects{})
		seen := map[string]int{}
		for i := range 60 {
			id, whole := protocol.EntityID([]byte{byte(i)}), 0
			saveTwo(t, w, d, id)
			for _, seq := range []uint64{1, 2} {
				how := condition(t, w, d, id, seq)
				if seen[how]++; how == "whole" {
					whole++
				}
			}
			if cautious != (whole == 1) {
				t.Errorf("cautious: %v, and %d of two snapshots are whole", cautious, whole)
			}
		}
		if seen["noticed"] == 0 || seen["cut off"] == 0 || seen["lost"] == 0 || s.Counts().Spoilt == 0 {
			t.Errorf("seen: %v", seen)
		}
	}
}

// saveTwo stores two snapshots, and waits until they are spoilt.
func saveTwo(t *testing.T, w *world, d *journals.Door, id protocol.EntityID) {
	t.Helper()
	for seq := range uint64(2) {
		shot := persistence.Snapshot{Entity: id, Seq: seq + 1, Name: "n", Version: 1, Body: []byte{1, 2}}
		if _, err := d.SaveSnapshots(w.timeout(time.Second), hosting(1), []persistence.Snapshot{shot}); err != nil {
			t.Fatal(err)
		}
	}
	w.pass(time.Minute)
}

// condition says what is found of a snapshot.
func condition(t *testing.T, w *world, d *journals.Door, id protocol.EntityID, seq uint64) string {
	t.Helper()
	how := "lost"
	read := []persistence.SnapshotRead{{Entity: id, Below: seq + 1}}
	err := d.LoadSnapshots(w.timeout(time.Second), hosting(1), read, func(_ int, x persistence.Snapshot) error {
		switch {
		case x.Seq != seq: // the one before it is found
		case x.Body == nil:
			how = "noticed"
		case len(x.Body) == 1:
			how = "cut off"
		default:
			how = "whole"
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return how
}

// The store is gone now and then, for all or for some, and comes back.
func TestOutages(t *testing.T) {
	w, s, d := open(journals.Faults{Outages: true}, journals.Defects{})
	ok, failed := 0, 0
	for range 200 {
		if err := d.Fence(w.timeout(time.Second), hosting(1)); err != nil {
			failed++
		} else {
			ok++
		}
		w.pass(time.Second)
	}
	if ok == 0 || failed == 0 || s.Counts().Outages == 0 || w.fenced != ok {
		t.Errorf("%d calls succeed, %d fail: %+v", ok, failed, s.Counts())
	}
}

// What is planted breaks the law that it is about.
func TestDefects(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		defects journals.Defects
		do      func(d *journals.Door) error
		last    uint64
	}{
		"any token": {journals.Defects{AnyToken: true}, func(d *journals.Door) error {
			err := d.Fence(ctx, hosting(2))
			_, err2 := d.Append(ctx, hosting(1), write(0, 1))
			return errors.Join(err, err2)
		}, 1},
		"any sequence": {journals.Defects{AnySequence: true}, func(d *journals.Door) error {
			_, err := d.Append(ctx, hosting(1), write(0, 1))
			_, err2 := d.Append(ctx, hosting(1), write(0, 2))
			return errors.Join(err, err2)
		}, 2},
		"repeats": {journals.Defects{RepeatsTwice: true}, func(d *journals.Door) error {
			_, err := d.Append(ctx, hosting(1), write(0, 1))
			_, err2 := d.Append(ctx, hosting(1), write(0, 1))
			return errors.Join(err, err2)
		}, 2},
		"answers first": {journals.Defects{AnswersFirst: true}, func(d *journals.Door) error {
			_, err := d.Append(ctx, hosting(1), write(0, 1))
			return err
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			_, s, d := open(journals.Faults{}, c.defects)
			if err := c.do(d); err != nil || last(t, s) != c.last {
				t.Errorf("%d events, want %d: %v", last(t, s), c.last, err)
			}
		})
	}
}
