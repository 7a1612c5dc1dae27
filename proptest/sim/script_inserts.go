package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/drivers"
	"github.com/coterie-go/coterie/proptest/sim/history"
	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/replicator"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/operation"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// insertSpec plays the insert test of the reference, which was written after Jepsen's: five nodes
// put unique elements, each its share, into a set; connected and at Local, connected and at
// Majority, then both again while a split parts three nodes from two for a while. Every write
// but those of the smaller side at Majority must succeed; what a quorum acknowledged must be read
// by a quorum at once, on the smaller side too when the split is over; and everybody must hold
// everything, what failed too, within 15 seconds.
type insertSpec struct {
	c      *chaos
	left   []insertPhase
	phase  insertPhase
	book   *history.Set
	failed map[int]int // failures by slot
	open   int         // inserts and reads that are not answered
	until  int64       // when everybody must hold everything
	done   bool
}

// insertPhase is one of the four.
type insertPhase struct {
	key   string
	level quorum.Level
	split bool
}

const (
	insertTimeout = time.Second
	insertSettle  = 15 * time.Second
	insertSplit   = 2500 * time.Millisecond
)

// smaller reports whether a slot is on the side of two.
func smaller(slot int) bool { return slot == 1 || slot == 2 }

// playInserts begins when all five are voters of one view. The set is volatile as in the reference, or
// durable.
func playInserts(c *chaos) {
	space := random.Pick(c.rng, "v", "d")
	s := &insertSpec{c: c, left: []insertPhase{
		{space + "/set/connected-local", quorum.Local, false},
		{space + "/set/connected-majority", quorum.Majority, false},
		{space + "/set/split-local", quorum.Local, true},
		{space + "/set/split-majority", quorum.Majority, true},
	}}
	s.until = int64(time.Minute)
	s.begin()
	c.w.at(int64(c.w.opt.Safety)-1, nil, func() {
		if !s.done {
			c.w.violate("inserts", "the spec is still at %s", s.phase.key)
		}
	})
}

func (s *insertSpec) begin() {
	w := s.c.w
	if !s.formed() {
		if w.now > s.until {
			w.violate("inserts", "five nodes do not form a cluster")
			return
		}
		w.after(100*time.Millisecond, nil, s.begin)
		return
	}
	s.next()
}

func (s *insertSpec) formed() bool {
	for _, p := range s.c.w.live {
		if p.mem.view == nil || len(p.mem.view.Voters()) != options.InsertNodes ||
			p.replica(options.Backend).m.Settled() != uint64(p.mem.view.Epoch) {
			return false
		}
	}
	return len(s.c.w.live) == options.InsertNodes
}

// next begins a phase, or ends the spec.
func (s *insertSpec) next() {
	w := s.c.w
	if len(s.left) == 0 {
		s.done = true
		w.trace.Line(w, "INSERTS done")
		return
	}
	s.phase, s.left = s.left[0], s.left[1:]
	s.book, s.failed, s.open = w.dataset(options.Backend).history.Set(s.phase.key), map[int]int{}, 0
	w.trace.Line(w, "INSERTS %s at %v", s.phase.key, s.phase.level)
	spread := 2 * time.Second
	if s.phase.split {
		spread = insertSplit + 2*time.Second // from a second before the split to a second after
		w.after(time.Second, nil, func() { w.net.CutSilently(func(a, b int) bool { return smaller(a) != smaller(b) }) })
		w.after(time.Second+insertSplit, nil, s.mend)
	}
	for i, k := range s.c.rng.Perm(w.opt.Inserts) {
		w.after(spread*time.Duration(i)/time.Duration(w.opt.Inserts), nil, func() {
			s.insert(w.slots[k%options.InsertNodes].proc)
		})
	}
	w.after(spread, nil, s.answered)
}

func (s *insertSpec) insert(p *Process) {
	w := s.c.w
	if p == nil {
		w.violate("inserts", "a process has ended, although nothing was done to it")
		return
	}
	e := s.book.Add(fmt.Sprintf("e%d", w.dataset(options.Backend).history.Next()), p.slot.index)
	w.counts.Writes++
	s.open++
	r := p.replica(options.Backend)
	r.call(func(id uint64) replicator.Input {
		return replicator.Update{ID: id, Key: s.phase.key, Write: s.phase.level, Timeout: insertTimeout,
			Mutate: r.noting(&e.Added, s.phase.key,
				crdt.Mutate[crdt.ORSet[string]](func(t *crdt.ORSetTx[string]) error {
					return t.Add(e.Elem)
				}))}
	}, func(res effect.Result) {
		s.open--
		switch {
		case res.Err == nil:
			w.counts.Acked++
			e.Apply(w.now)
			if s.phase.level == quorum.Majority {
				e.Acknowledge(w.now)
				w.acknowledged(r, s.phase.key, e.Added)
			}
		case s.mayFail(p) && (errors.Is(res.Err, operation.ErrTimeout) || errors.Is(res.Err, drivers.ErrNoLease)):
			s.failed[p.slot.index]++
		default:
			w.violate("inserts", "%v: %s into %s at %v: %v", p, e.Elem, s.phase.key, s.phase.level, res.Err)
		}
	})
}

// mayFail reports whether an insert may fail at a process. On the side of two it finds no majority
// during the split, and may have lost the lease when it finds one afterwards.
func (s *insertSpec) mayFail(p *Process) bool {
	return s.phase.split && s.phase.level == quorum.Majority && smaller(p.slot.index)
}

// mend ends the split, and demands that there was one: neither side has heard of all that the other
// inserted. At this moment the smaller side has to learn from the larger what it was told.
func (s *insertSpec) mend() {
	w := s.c.w
	for _, p := range w.live {
		v, err := crdt.ORSet[string]{}.View(p.replica(options.Backend).view(s.phase.key))
		hears := func(e *history.Entry) bool { return smaller(e.Slot) != smaller(p.slot.index) && !v.Contains(e.Elem) }
		if err != nil || !slices.ContainsFunc(s.book.Entries, hears) {
			w.violate("inserts", "%v holds everything at the end of a split (%v)", p, err)
		}
	}
	w.net.Cut(nil)
	for _, p := range w.live {
		s.ask(p, func() {})
	}
}

// ask reads the set of a majority, which must know what a majority was told before; and the reader,
// what it was told itself.
func (s *insertSpec) ask(p *Process, then func()) {
	w, start, book := s.c.w, s.c.w.now, s.book
	w.counts.Reads++
	known := len(book.Entries)
	read[crdt.ORSet[string]](p.replica(options.Backend), book.Key, quorum.Majority,
		func(v crdt.ORSet[string], err error) {
			if err != nil {
				w.violate("inserts", "%v cannot read %s of a majority: %v", p, book.Key, err)
			}
			for _, e := range book.Entries[:known] {
				if err == nil && !v.Contains(e.Elem) && (e.Must(start) || e.Slot == p.slot.index) {
					w.violate("inserts", "%v reads %s of a majority without %s of n%d, acknowledged at %v",
						p, book.Key, e.Elem, e.Slot, time.Duration(e.Acked))
				}
			}
			then()
		})
}

// answered waits for the answers to all inserts; then a quorum must know of what a quorum was told.
func (s *insertSpec) answered() {
	w := s.c.w
	if s.open > 0 {
		w.after(50*time.Millisecond, nil, s.answered)
		return
	}
	s.until = w.now + int64(insertSettle)
	if s.phase.level != quorum.Majority {
		s.spread()
		return
	}
	s.open = len(w.live)
	for _, p := range w.live {
		if s.phase.split && smaller(p.slot.index) != (s.failed[p.slot.index] > 0) {
			w.violate("inserts", "%v: %d inserts at Majority failed in a split of three and two",
				p, s.failed[p.slot.index])
		}
		s.ask(p, func() {
			if s.open--; s.open == 0 {
				s.spread()
			}
		})
	}
}

// spread waits until everybody holds everything and nothing else.
func (s *insertSpec) spread() {
	w := s.c.w
	for _, p := range w.live {
		v, err := crdt.ORSet[string]{}.View(p.replica(options.Backend).view(s.phase.key))
		all := err == nil && v.Len() == w.opt.Inserts
		for i := 0; all && i < len(s.book.Entries); i++ {
			all = v.Contains(s.book.Entries[i].Elem)
		}
		if !all && w.now > s.until {
			w.violate("inserts", "%v holds %d of %d in %s after %v (%v)",
				p, v.Len(), w.opt.Inserts, s.phase.key, insertSettle, err)
			return
		}
		if !all {
			w.after(100*time.Millisecond, nil, s.spread)
			return
		}
	}
	s.next()
}
