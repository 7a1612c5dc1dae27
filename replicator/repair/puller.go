package repair

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest/defect"
)

// Puller is the repairs of one space of this replica, of which one runs at a time. What its methods
// return, if anything, adds up, and has to be taken; Taken follows.
//
//	idle ──Begin──► pulling ──adds up──► taking, Staged is returned ──Taken──► idle
//	                  │ ▲
//	                  │ └─ another donor
//	                  └─ none: idle, and Host.Broken is called
type Puller struct {
	env    Env
	run    *pull // nil: idle, or taking
	taking bool  // what has come is being made part of the store
}

// NewPuller makes an idle Puller.
func NewPuller(env Env) *Puller { return &Puller{env: env} }

// Running reports whether a repair is running.
func (u *Puller) Running() bool { return u.run != nil || u.taking }

// Taken ends the repair: what was staged is part of the store, or makes no sense.
func (u *Puller) Taken() { u.taking = false }

// Donor returns the donor of the repair that runs, 0: none does.
func (u *Puller) Donor() crdt.Origin {
	if u.run == nil {
		return 0
	}
	return u.run.from
}

// Helpers returns the other replicas that items are fetched from.
func (u *Puller) Helpers() []crdt.Origin {
	if u.run == nil {
		return nil
	}
	return slices.Clone(u.run.fetch.helpers)
}

// Session returns the number of the repair that runs, and whether the donor has answered; 0: none
// runs.
func (u *Puller) Session() (session uint64, begun bool) {
	if u.run == nil {
		return 0, false
	}
	return u.run.q.session, u.run.clock != nil
}

// Finder finds dots that this replica has told the donor of by their numbers in a sketch with a key.
func (u *Puller) Finder(key uint64) *crdt.DotFinder { return u.run.own.Finder(key, u.run.asked) }

// Deadline is when to call OnTime; zero: never.
func (u *Puller) Deadline() time.Time {
	if u.run == nil {
		return time.Time{}
	}
	return u.run.at
}

// Begin begins a repair in place of any other. union says that the clocks are equal and the digests
// are not: the repair adds and drops nothing (R5).
func (u *Puller) Begin(from crdt.Origin, union bool) {
	u.start(newPull(&u.env, from, u.env.Host.Now()), u.env.Store.Clock(), union)
}

func (u *Puller) start(p *pull, asked *crdt.Clock, union bool) {
	p.asked, p.union = asked.Clone(), union
	u.run, u.taking = p, false
	p.ask()
}

// OnHead takes what the donor has pinned: its clock, the digest and the number of live items.
func (u *Puller) OnHead(from crdt.Origin, session uint64, clock *crdt.Clock, digest crdt.Digest, items uint64) *Staged {
	if !u.run.is(from, session) || u.run.clock != nil {
		return nil
	}
	if !u.run.begin(clock, digest, items) {
		u.giveUp()
		return nil
	}
	return u.progress()
}

// OnCells takes cells of the donor's sketch.
func (u *Puller) OnCells(from crdt.Origin, session uint64, c Cells) *Staged {
	if p := u.run; !p.is(from, session) || p.clock == nil || !p.diff.addCells(c) {
		return nil
	}
	return u.progress()
}

// OnItems takes an answer of the donor or of a helper.
func (u *Puller) OnItems(from crdt.Origin, session uint64, a Answer) *Staged {
	p := u.run
	if p == nil || p.clock == nil || p.q.session != session {
		return nil
	}
	x := p.answered(from, a.ID)
	if x == nil {
		return nil // of a question that was answered, or withdrawn
	}
	if p.take(x, a) {
		return u.progress()
	}
	u.env.Host.Malformed(from)
	if from == p.from {
		u.replaceDonor()
		return nil
	}
	p.q.putBack(x)
	p.fetch.dropHelper(from)
	return u.drive()
}

// OnRefuse goes elsewhere.
func (u *Puller) OnRefuse(from crdt.Origin, session uint64) *Staged {
	p := u.run
	switch {
	case p == nil || p.q.session != session:
	case p.from == from:
		u.replaceDonor()
	default:
		p.fetch.dropHelper(from)
		return u.drive()
	}
	return nil
}

// OnTime goes on with what needs no answer, or asks again.
func (u *Puller) OnTime() *Staged {
	p := u.run
	if p == nil {
		return nil
	}
	if p.busy {
		return u.drive()
	}
	if p.underway() {
		p.at = u.env.Host.RetryAt(p.tries)
		return nil
	}
	if p.silentTooLong() {
		u.replaceDonor()
		return nil
	}
	if p.again(); !p.fetch.first {
		return nil
	}
	return u.drive()
}

// progress notes that the donor is there, and goes on.
func (u *Puller) progress() *Staged {
	u.run.tries, u.run.silent = 0, 0
	return u.drive()
}

// drive goes on with the repair, once the donor has answered.
func (u *Puller) drive() *Staged {
	p := u.run
	if p.clock == nil {
		return nil
	}
	if p.drive() {
		if p.addsUp() || u.env.Defects.Planted(defect.TrustSketch) {
			u.end()
			u.taking = true
			return p.staged()
		}
		u.doubt()
	}
	if p.busy && u.run == p {
		p.at = u.env.Host.Now()
	}
	return nil
}

// doubt goes another way: what is here already may be wrong, and at last the donor.
func (u *Puller) doubt() {
	p := u.run
	*u.env.RepairAlarms++
	switch {
	case p.doubt():
	case !p.asked.Empty():
		u.end()
		u.start(newPull(&u.env, p.from, p.since), &crdt.Clock{}, p.union)
	default:
		u.giveUp()
	}
}

// replaceDonor begins anew with another donor. What has been fetched is kept: an item is the same
// wherever its dot is alive.
func (u *Puller) replaceDonor() {
	old := u.run
	lost := append(old.lost, old.from)
	next, ok := u.nextDonor(lost)
	if old.union || !ok {
		u.giveUp()
		return
	}
	*u.env.DonorsReplaced++
	u.end()
	p, asked := newPull(&u.env, next, old.since), &crdt.Clock{}
	if !old.asked.Empty() {
		asked = u.env.Store.Clock()
	}
	p.lost = lost
	p.fetch.keep(&old.fetch)
	u.start(p, asked, false)
}

// nextDonor returns a peer that may help and has not been tried.
func (u *Puller) nextDonor(lost []crdt.Origin) (crdt.Origin, bool) {
	for _, s := range u.env.Host.Suppliers() {
		if !slices.Contains(lost, s.ID) {
			return s.ID, true
		}
	}
	return 0, false
}

// giveUp ends a repair without its end.
func (u *Puller) giveUp() {
	p := u.run
	u.end()
	u.env.Host.Broken(p.from, p.since)
}

// end forgets the repair, and lets the donor forget it.
func (u *Puller) end() {
	p := u.run
	u.run = nil
	u.env.Line.Done(p.from, p.q.session)
}

// Yield waits with the own repair when a peer and this replica have asked each other at the same
// time: the first leaves less to find for the other. It reports whether it does, and when the
// repair had begun. When the peer is done, it tells its clock, and the repair begins again.
func (u *Puller) Yield(to crdt.Origin) (since time.Time, yields bool) {
	p := u.run
	if p == nil || p.from != to || p.clock != nil || p.union {
		return since, false
	}
	u.end()
	return p.since, true
}

// Forget makes sure that no peer that has left is asked.
func (u *Puller) Forget(left func(crdt.Origin) bool) {
	p := u.run
	if p == nil {
		return
	}
	p.lost = slices.DeleteFunc(p.lost, left)
	p.fetch.dropHelpers(left)
	if left(p.from) {
		u.replaceDonor()
	}
}

// Stop forgets the repair without a word: this replica is no member any more.
func (u *Puller) Stop() { u.run, u.taking = nil, false }
