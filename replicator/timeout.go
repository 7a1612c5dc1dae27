package replicator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/wire"
)

// TimeoutError tells how far an operation came before its time was up; it wraps ErrTimeout. A write
// is not rolled back: it lives here, and still spreads. What it counts is what this replica knows:
// more may have the write, whose acks are on their way or were lost.
type TimeoutError struct {
	Key   string
	Level quorum.Level
	Read  bool
	// the view that is counted: the installed one, or one that is not settled and lacks a quorum;
	// 0: not known yet
	Epoch uint64
	Need  int // so many of its voters the level asks for
	// so many of them have the write, have answered the read, or agreed when a linearizable one
	// asked last
	Have    int
	Missing []crdt.Origin // by id, current members not counted in Have; the own id if the own disk lacks it
	Refused []Refusal     // those of Missing whose disks have refused the write, without the own one
	Cause   error         // of the own disk, when it has failed
}

// Error implements error.
func (e *TimeoutError) Error() string { return e.Describe(wire.Short) }

// Describe is Error with the caller's names of the members.
func (e *TimeoutError) Describe(name func(crdt.Origin) string) string {
	var b strings.Builder
	what, did, ever := "write", "have it", "; it is not rolled back and still spreads"
	if e.Read {
		what, did, ever = "get", "have answered", ""
	}
	if e.Level == quorum.Linearizable {
		did = "agree"
	}
	fmt.Fprintf(&b, "%v: %s of %q at %v: ", ErrTimeout, what, e.Key, e.Level)
	if e.Epoch == 0 {
		b.WriteString("a view before the installed one is not known here yet")
	} else {
		names := make([]string, len(e.Missing))
		for i, o := range e.Missing {
			names[i] = name(o)
		}
		fmt.Fprintf(&b, "%d of the %d replicas needed of view %d %s, missing %s",
			e.Have, e.Need, e.Epoch, did, strings.Join(names, " "))
	}
	b.WriteString(ever)
	if e.Cause != nil || len(e.Refused) > 0 {
		fmt.Fprintf(&b, "; %v", ErrStoreFailure)
		describeRefusals(&b, e.Cause, e.Refused, name)
	}
	return b.String()
}

// Unwrap returns ErrTimeout, and if a disk has refused the write, ErrStoreFailure and the own
// disk's cause.
func (e *TimeoutError) Unwrap() []error {
	switch {
	case e.Cause != nil:
		return []error{ErrTimeout, ErrStoreFailure, e.Cause}
	case len(e.Refused) > 0:
		return []error{ErrTimeout, ErrStoreFailure}
	}
	return []error{ErrTimeout}
}

// timedOut tells how far an operation has come.
func (m *Machine) timedOut(o *op) error {
	s := m.spaces[o.space]
	switch {
	case o.heldBack():
		o.mutate = nil
		if m.move.movesKey(o.key) {
			return fmt.Errorf("%w: write of %q at %v was held back, nothing happened", ErrKeyMoving, o.key, o.level)
		}
		return s.holding.neverBegun(o)
	case o.level == quorum.Linearizable:
		return s.writes.timedOut(o, s.compares.agreed(o))
	case o.read:
		r := s.reads.roundOf(o)
		return s.writes.timedOut(o, func(p *peer) bool { return s.reads.answered(r, p) })
	}
	return s.writes.timedOut(o, func(p *peer) bool { return s.writes.hasWrite(p, o) })
}

// timedOut tells which members satisfy has: in the installed view, or, if that has enough, in the
// first older one that has not.
func (w *writes) timedOut(o *op, has func(p *peer) bool) error {
	e := &TimeoutError{Key: o.key, Level: o.level, Read: o.read, Cause: o.failed}
	if o.level == quorum.Local { // it waited for the own disk
		e.Epoch, e.Need, e.Missing = w.r.view.Epoch, 1, []crdt.Origin{w.r.cfg.Self}
		return e
	}
	if !w.sets.Complete() {
		return e
	}
	v := w.sets.Lacking(o.level, has)
	if v == nil {
		v = w.sets.Newest()
	}
	e.Epoch, e.Need, e.Have = v.Epoch, v.Need(o.level), v.Tally(has)
	e.Missing, e.Refused = w.idsOf(v.Without(has)), w.refusals(v, o)
	return e
}

// neverBegun tells why an update was held back until its time was up.
func (h *holding) neverBegun(o *op) error {
	if p := h.laggard(); p != nil {
		bytes, _ := h.own.Behind(p.link(h.r.id).window.Applied())
		return fmt.Errorf("%w: write of %q at %v was held back, nothing happened: %s is %d bytes behind "+
			"(Config.BacklogMax)",
			ErrOverloaded, o.key, o.level, wire.Short(p.id), bytes)
	}
	return fmt.Errorf("%w: write of %q at %v was held back, nothing happened", ErrOverloaded, o.key, o.level)
}

// idsOf lists replicas, the own one as nil, by id.
func (w *writes) idsOf(ps []*peer) (ids []crdt.Origin) {
	for _, p := range ps {
		if p == nil {
			ids = append(ids, w.r.cfg.Self)
		} else {
			ids = append(ids, p.id)
		}
	}
	slices.Sort(ids)
	return ids
}
