package quorum

import "github.com/coterie-go/coterie/crdt"

// Reports is what members had acknowledged when they had installed an epoch, or later. The zero
// value has none.
type Reports struct{ of map[crdt.Origin]report }

type report struct {
	epoch uint64
	clock *crdt.Clock
}

// Forget drops the reports of epochs before since: they do not say all about the unsettled views
// (R15).
func (r *Reports) Forget(since uint64) {
	for id, x := range r.of { // order: deletes only
		if x.epoch < since {
			delete(r.of, id)
		}
	}
}

// Set takes a member's report in place of any older one. It keeps the clock.
func (r *Reports) Set(id crdt.Origin, epoch uint64, clock *crdt.Clock) {
	if r.of == nil {
		r.of = map[crdt.Origin]report{}
	}
	r.of[id] = report{epoch: epoch, clock: clock}
}

// Add takes a member's report, unless there is one of that epoch or a later one. It keeps the
// clock.
func (r *Reports) Add(id crdt.Origin, epoch uint64, clock *crdt.Clock) {
	if x := r.of[id]; x.clock == nil || x.epoch < epoch {
		r.Set(id, epoch, clock)
	}
}

// Of returns what a member has reported, nil: nothing.
func (r *Reports) Of(id crdt.Origin) *crdt.Clock { return r.of[id].clock }

// Goal is all that was acknowledged before the installed view, or more.
type Goal struct {
	Clock *crdt.Clock
	Lost  bool // a majority of some unsettled view is gone: what only they held is not in it
}

// Find joins the reports of each unsettled view, when a majority of it has reported since the
// epoch, or all that are left of it (R13). It reports whether they have. The own replica is self.
func (r *Reports) Find(sets []Set[crdt.Origin], since uint64, self crdt.Origin) (Goal, bool) {
	for i := range sets { // reports come one by one: what costs more waits for the last one
		need := min(MajorityOf(sets[i].Size), sets[i].Members())
		if len(r.of) < need || r.each(&sets[i], since, self, func(*crdt.Clock) {}) < need {
			return Goal{}, false
		}
	}
	goal := Goal{Clock: &crdt.Clock{}}
	var last *crdt.Clock // most have the same
	for i := range sets {
		r.each(&sets[i], since, self, func(c *crdt.Clock) {
			if c != last {
				goal.Clock.Join(c)
				last = c
			}
		})
		goal.Lost = goal.Lost || sets[i].MajorityGone()
	}
	return goal, true
}

// each calls fn with what the members of a set have reported since the epoch, and counts them.
func (r *Reports) each(v *Set[crdt.Origin], since uint64, self crdt.Origin, fn func(*crdt.Clock)) (n int) {
	take := func(id crdt.Origin) {
		if x := r.of[id]; x.clock != nil && x.epoch >= since {
			n++
			fn(x.clock)
		}
	}
	if v.Self {
		take(self)
	}
	for _, id := range v.Peers {
		take(id)
	}
	return n
}
