package journals

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/trace"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/memory"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Holder is a process, as the store sees it.
type Holder interface {
	fmt.Stringer
	Slot() int
	UID() uint64
	Alive() bool
	// Enter runs something in the process.
	Enter(run func())
	// Await has a routine of the process wait until one of the two has something: 0 or 1.
	Await(a, b <-chan struct{}) int
	// Freeze has the process stand still.
	Freeze(d time.Duration)
	// Resume has it go on.
	Resume()
}

// World is where the holders live.
type World interface {
	Now() int64
	// After has something happen to a holder, or to none, in a while.
	After(d time.Duration, owner Holder, run func())
	// Healed reports whether nothing breaks any more.
	Healed() bool
	String() string
}

// Watcher sees what takes effect in the store, at that moment.
type Watcher interface {
	// Fenced is told of a Fence whose caller has the answer.
	Fenced(h persistence.Hosting)
	Stored(h persistence.Hosting, id protocol.EntityID, e persistence.Event)
	Replaced(h persistence.Hosting, id protocol.EntityID, s persistence.State)
	Saved(h persistence.Hosting, s persistence.Snapshot)
	Deleted(h persistence.Hosting, id protocol.EntityID, upTo uint64)
}

// Counts are what the store has met.
type Counts struct{ Calls, Failed, Lost, Hung, Late, Stilled, Succeeded, Outages, Spoilt, Fenced, Refused uint64 }

// Add sums the counts of runs.
func (c *Counts) Add(o Counts) {
	c.Calls += o.Calls
	c.Failed += o.Failed
	c.Lost += o.Lost
	c.Hung += o.Hung
	c.Late += o.Late
	c.Stilled += o.Stilled
	c.Succeeded += o.Succeeded
	c.Outages += o.Outages
	c.Spoilt += o.Spoilt
	c.Fenced += o.Fenced
	c.Refused += o.Refused
}

// Store is where the state of entities lies.
type Store struct {
	w       World
	rng     *rand.Rand
	trace   *trace.Trace
	faults  Faults
	watcher Watcher
	kept    memory.Store
	planted planting
	read    map[string]persistence.Offset    // by type: what the Watcher has seen; only looked up
	spoilt  map[spot]damage                  // snapshots; only looked up
	doors   map[uint64]*Door                 // by UID; only looked up
	still   []standing                       // processes that stand still until another one takes over
	hold    map[int]Standstill               // of the next call of a slot; only looked up
	top     map[place]singleton.FencingToken // of other services: the highest that has called; only looked up
	down    bool                             // no process reaches it
	cut     uint64                           // slots that do not
	counts  Counts
}

// standing is a process that stands still in a call of a hosting.
type standing struct {
	p Holder
	h persistence.Hosting
}

// Errors of calls whose outcome their caller does not know.
var (
	errGone   = errors.New("the store is gone")
	errFailed = errors.New("the call has failed")
	errLost   = errors.New("the answer is lost")
)

// New makes a store that is empty.
func New(f Faults, d Defects, w World, rng *rand.Rand, t *trace.Trace, watcher Watcher) *Store {
	s := &Store{
		w: w, rng: rng, trace: t, faults: f, watcher: watcher, read: map[string]persistence.Offset{},
		spoilt: map[spot]damage{}, doors: map[uint64]*Door{}, hold: map[int]Standstill{},
		top: map[place]singleton.FencingToken{},
	}
	s.planted = planting{Defects: d, top: map[place]singleton.FencingToken{}, last: map[entity]written{}}
	if f.Outages {
		w.After(s.while(), nil, s.trouble)
	}
	return s
}

// Of is the store as a process uses it.
func (s *Store) Of(p Holder) *Door {
	d := s.doors[p.UID()]
	if d == nil {
		d = &Door{s: s, p: p}
		s.doors[p.UID()] = d
	}
	return d
}

// Counts are what has happened so far.
func (s *Store) Counts() Counts { return s.counts }

// Still has the process on a slot stand still in a call, the next one or one after that, until another
// process has taken over what it calls for.
func (s *Store) Still(slot int, x Standstill) { s.hold[slot] = x }

// Standstill says in which call of a process it stands still.
type Standstill struct {
	Skip int    // so many calls go before
	When Moment // of the call
}

// held reports whether a process stands still in the call that it begins.
func (s *Store) held(slot int) (when Moment, is bool) {
	h, is := s.hold[slot]
	switch {
	case !is || s.w.Healed():
		return never, false
	case h.Skip > 0:
		h.Skip--
		s.hold[slot] = h
		return never, false
	}
	delete(s.hold, slot)
	return h.When, true
}

// Fail keeps the process on a slot from the store for a while.
func (s *Store) Fail(slot int, d time.Duration) {
	s.cut |= 1 << slot
	s.w.After(d, nil, func() { s.cut &^= 1 << slot })
}

// Heal lets all processes reach the store.
func (s *Store) Heal() { s.down, s.cut = false, 0 }

func (s *Store) while() time.Duration {
	return time.Duration(random.Between(s.rng, int64(500*time.Millisecond), int64(12*time.Second)))
}

// trouble keeps all processes, or some, from the store for a while, until the world heals.
func (s *Store) trouble() {
	if s.Heal(); s.w.Healed() {
		return
	}
	switch s.rng.IntN(5) {
	case 0:
		s.down = true
		s.counts.Outages++
	case 1:
		s.cut = s.rng.Uint64()
		s.counts.Outages++
	}
	s.trace.Fault(s.w, "CHAOS store of entities: down=%v cut=%x", s.down, s.cut)
	s.w.After(s.while(), nil, s.trouble)
}

// reaches reports whether a call of a process gets through.
func (s *Store) reaches(p Holder) bool { return !s.down && s.cut>>p.Slot()&1 == 0 }

// told hands the Watcher the events that were stored since the last time.
func (s *Store) told(h persistence.Hosting) {
	q := persistence.Query{Type: h.Type, After: s.read[h.Type]}
	if q.Check() != nil {
		return // nothing was stored for such a type
	}
	for r, err := range s.kept.Events(context.Background(), q) {
		if err != nil {
			panic(err) // the store in memory reads what it has
		}
		s.read[h.Type] = r.Offset
		s.watcher.Stored(h, r.Entity, r.Event)
	}
}

// Contents reads the history of an entity, as a process without faults would.
func (s *Store) Contents(typ string, id protocol.EntityID, each func(persistence.Event)) (persistence.End, error) {
	h := persistence.Hosting{Type: typ, Token: highest}
	ends, err := s.kept.Load(context.Background(), h, []persistence.Read{{Entity: id}},
		func(_ int, e persistence.Event) error {
			each(e)
			return nil
		})
	if err != nil {
		return persistence.End{}, err
	}
	return ends[0], nil
}

// Value reads the value of an entity in the same way. ok reports whether it ever had one.
func (s *Store) Value(typ string, id protocol.EntityID) (v persistence.State, ok bool) {
	h := persistence.Hosting{Type: typ, Token: highest}
	err := s.kept.LoadStates(context.Background(), h, []protocol.EntityID{id},
		func(_ int, x persistence.State) error {
			v, ok = x, true
			return nil
		})
	return v, ok && err == nil
}

// highest is a token above all others.
var highest = singleton.FencingToken{Era: 1<<64 - 1}
