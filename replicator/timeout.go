package replicator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// TimeoutError tells how far an operation came before its time was up; it wraps ErrTimeout. A write
// is not rolled back: it lives here, and still spreads. What it counts is what this replica knows:
// more may have the write, whose acks are on their way or were lost.
type TimeoutError struct {
	Key     string
	Level   quorum.Level
	Read    bool
	Epoch   uint64        // the view that is counted: the installed one, or one that is not settled and lacks a quorum; 0: not known yet
	Need    int           // so many of its voters the level asks for
	Have    int           // so many of them have the write, have answered the read, or agreed when a linearizable one asked last
	Missing []crdt.Origin // by id, current members not counted in Have; the own id if the own disk lacks it
	Refused []Refusal     // those of Missing whose disks have refused the write, without the own one
	Cause   error         // of the own disk, when it has failed
}

// Error implements error.
func (e *TimeoutError) Error() string { return e.Describe(short) }

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
		fmt.Fprintf(&b, "%d of the %d replicas needed of view %d %s, missing %s", e.Have, e.Need, e.Epoch, did, strings.Join(names, " "))
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

// timedOut tells how far an operation has come: in the installed view, or, if that has enough, in
// the first older one that has not.
func (s *space) timedOut(o *op) error {
	if o.heldBack() {
		return s.neverBegun(o)
	}
	has := func(p *peer) bool { return s.hasWrite(p, o) }
	if o.level == quorum.Linearizable {
		has = o.agreed
	} else if o.read {
		r := s.roundOf(o)
		has = func(p *peer) bool { return s.answered(r, p) }
	}
	e := &TimeoutError{Key: o.key, Level: o.level, Read: o.read, Cause: o.failed}
	if o.level == quorum.Local { // it waited for the own disk
		e.Epoch, e.Need, e.Missing = s.m.view.Epoch, 1, []crdt.Origin{s.m.cfg.Self}
		return e
	}
	if !s.sets.Complete() {
		return e
	}
	v := s.sets.Lacking(o.level, has)
	if v == nil {
		v = s.sets.Newest()
	}
	e.Epoch, e.Need, e.Have, e.Missing, e.Refused = v.Epoch, v.Need(o.level), v.Tally(has), s.idsOf(v.Without(has)), s.refusals(v, o)
	return e
}

// neverBegun tells why an update was held back until its time was up.
func (s *space) neverBegun(o *op) error {
	o.mutate = nil
	if s.m.movesKey(o.key) {
		return fmt.Errorf("%w: write of %q at %v was held back, nothing happened", ErrKeyMoving, o.key, o.level)
	}
	if p := s.laggard(); p != nil {
		bytes, _ := s.own.Behind(p.link(s).window.Applied())
		return fmt.Errorf("%w: write of %q at %v was held back, nothing happened: %s is %d bytes behind (Config.BacklogMax)", ErrOverloaded, o.key, o.level,
			short(p.id), bytes)
	}
	return fmt.Errorf("%w: write of %q at %v was held back, nothing happened", ErrOverloaded, o.key, o.level)
}

// idsOf lists replicas, the own one as nil, by id.
func (s *space) idsOf(ps []*peer) (ids []crdt.Origin) {
	for _, p := range ps {
		if p == nil {
			ids = append(ids, s.m.cfg.Self)
		} else {
			ids = append(ids, p.id)
		}
	}
	slices.Sort(ids)
	return ids
}
