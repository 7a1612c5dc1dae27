package agenda

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remind"
	"github.com/coterie-go/coterie/sharding/remind/memory"
)

// world is an agenda with a store, entities and a clock, in virtual time. Calls of the store and
// handlers take a while, and fail at times.
type world struct {
	*rand.Rand
	a       *Agenda
	store   *memory.Store
	now     time.Time
	events  []event
	fail    float64 // share of calls and handlers that fail
	busy    float64 // share of mailboxes that are full
	version uint64
	ids     uint64

	running map[remind.Key]uint64        // handlers at work, and the version each has
	handled map[remind.Key]map[int64]int // turns that were handled in order, by their due time
	ended   map[uint64]bool              // versions whose end is written
	acked   map[uint64]remind.Change     // by Set, those that are stored
	asked   map[uint64]remind.Change     // by Set
	changes map[remind.Key]int           // that were asked for
	wrong   []string
	flushed int
	fired   int
}

type event struct {
	at time.Time
	fn func()
}

func newWorld(seed uint64, s Settings, planted defect.Set) *world {
	return &world{
		Rand: rand.New(rand.NewPCG(seed, 1)), a: New(s, planted), store: &memory.Store{}, now: time.Unix(1e9, 0),
		running: map[remind.Key]uint64{}, handled: map[remind.Key]map[int64]int{}, ended: map[uint64]bool{},
		changes: map[remind.Key]int{},
		acked:   map[uint64]remind.Change{}, asked: map[uint64]remind.Change{},
	}
}

func (w *world) errorf(format string, args ...any) {
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

func (w *world) after(most time.Duration, fn func()) {
	w.events = append(w.events, event{w.now.Add(time.Duration(w.Int64N(int64(most)))), fn})
}

var errPlanned = errors.New("planned")

func (w *world) maybeErr() error {
	if w.Float64() < w.fail {
		return errPlanned
	}
	return nil
}

// step steps the agenda and carries out its effects.
func (w *world) step(in Input) {
	fx := *w.a.Step(w.now, in)
	w.a.checkInvariants()
	for _, r := range fx.Fire {
		w.fire(r)
	}
	if fx.Read != nil {
		w.read(*fx.Read)
	}
	if fx.Write != nil {
		w.write(*fx.Write)
	}
	for _, a := range fx.Answers {
		if c := w.asked[a.ID]; a.Err == nil {
			w.acked[a.ID] = c
		}
		delete(w.asked, a.ID)
	}
	if fx.Flushed {
		w.flushed++
	}
}

// read looks into the store at one moment, and answers later.
func (w *world) read(rd Read) {
	w.after(10*time.Millisecond, func() {
		due, next, err := w.store.Due(context.Background(), tool, 0, rd.Until, rd.Limit)
		if fails := w.maybeErr(); fails != nil {
			due, next, err = nil, time.Time{}, fails
		}
		w.after(20*time.Millisecond, func() { w.step(DidRead{due, next, err}) })
	})
}

// write changes the store at one moment, and answers later. One that fails may have taken effect.
func (w *world) write(wr Write) {
	w.after(10*time.Millisecond, func() {
		err := w.maybeErr()
		if err == nil || w.IntN(2) == 0 {
			if err := w.store.Update(context.Background(), tool, 0, 0, wr.Changes); err != nil {
				w.errorf("%v", err)
			}
		}
		w.after(20*time.Millisecond, func() {
			for i, c := range wr.Changes {
				if wr.IDs[i] == 0 && err == nil {
					w.ended[c.If] = true
				}
				if wr.IDs[i] == 0 && c.Tries == 0 && w.handled[c.Key()] == nil {
					w.errorf("%v ends unhandled", c.Key())
				}
			}
			w.step(DidWrite{Err: err})
		})
	})
}

// fire has a handler run.
func (w *world) fire(r remind.Reminder) {
	w.fired++
	k := r.Key()
	switch {
	case w.now.Before(r.At):
		w.errorf("%v is handed out %v early", k, r.At.Sub(w.now))
	case w.running[k] != 0:
		w.errorf("%v is handed out twice", k)
	case w.ended[r.Version]:
		w.errorf("%v is handed out after its end was written", k)
	}
	if w.Float64() < w.busy {
		w.after(1, func() { w.step(Busy{k, r.Version}) })
		return
	}
	w.running[k] = r.Version
	w.after(100*time.Millisecond, func() {
		delete(w.running, k)
		err := w.maybeErr()
		if err == nil {
			if w.handled[k] == nil {
				w.handled[k] = map[int64]int{}
			}
			w.handled[k][r.Due.UnixNano()]++
		}
		if w.IntN(4) == 0 { // the handler sets it again
			w.set(k, w.now.Add(time.Duration(w.IntN(100)-50)*time.Millisecond), 0)
		}
		w.step(Handled{k, r.Version, err})
	})
}

// set asks for a reminder.
func (w *world) set(k remind.Key, due time.Time, every time.Duration) uint64 {
	w.version += 1 << 32
	return w.change(remind.Change{Reminder: remind.Reminder{
		Entity: k.Entity, Name: k.Name, Due: due, At: due, Every: every, Version: w.version,
	}})
}

func (w *world) change(c remind.Change) uint64 {
	w.ids++
	id := w.ids
	w.asked[id] = c
	w.changes[c.Key()]++
	w.after(1, func() { w.step(Set{id, c}) })
	return id
}

// run lets time pass.
func (w *world) run(d time.Duration) {
	for until := w.now.Add(d); ; {
		next, at := -1, w.a.Deadline()
		for i, e := range w.events {
			if next < 0 || e.at.Before(w.events[next].at) {
				next = i
			}
		}
		tick := !at.IsZero() && (next < 0 || at.Before(w.events[next].at))
		switch {
		case tick && !at.After(until):
			w.now = later(w.now, at)
			w.step(Tick{})
		case !tick && next >= 0 && !w.events[next].at.After(until):
			e := w.events[next]
			w.events = append(w.events[:next], w.events[next+1:]...)
			w.now = later(w.now, e.at)
			e.fn()
		default:
			w.now = until
			return
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func key(i int) remind.Key {
	return remind.Key{Entity: protocol.EntityID(fmt.Sprint("e", i/3)), Name: fmt.Sprint("n", i%3)}
}

// stored lists all that is stored.
func (w *world) stored(t *testing.T) []remind.Reminder {
	t.Helper()
	all, _, err := w.store.Due(context.Background(), tool, 0, time.Unix(5e9, 0), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return all
}
