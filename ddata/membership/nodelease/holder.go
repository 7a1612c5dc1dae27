package nodelease

import (
	"errors"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/defect"
)

// Config tells a Holder of its node.
type Config struct {
	Self     view.UID      // this node
	Arbiter  view.UID      // the uid under which an arbiter votes
	Duration time.Duration // L: for how long a grant counts
	Beat     time.Duration // the time between heartbeats
	Defects  defect.Set    // planted by a test
}

// Scene is what a Holder has to know of the moment.
type Scene struct {
	Now    time.Time
	Epoch  view.Epoch // of the installed view, as are the voters
	Voters []view.Member
	Quorum func(has func(view.UID) bool) bool // of the voters
	Frozen time.Time                          // V1: since when the own vote is bounded; zero = it has no bound
	May    bool                               // this node may hold a lease: it is no learner, and has not stopped
	Speaks bool                               // this node grants for the arbiter now
}

// Holder keeps the lease of this node.
//
// carried is the lease of earlier epochs. It may be used up after a newer view was installed: a
// node that had not installed it yet would do the same, so nothing may depend on the contrary. A
// node that decides a still later view without this node has promised L on installing (G3), after
// the last of the older grants was given (G2).
//
// Invariants: no grant, and no lease, lasts beyond L from now on, unless the own vote alone is a
// quorum. grants are of the epoch of the installed view.
type Holder struct {
	cfg     Config
	lease   Lease           // what this node may rely on
	votes   Lease           // a quorum's grants, whatever the node's own status
	grants  byMember[grant] // of other members, in this epoch
	arbiter grant           // what others granted in the arbiter's name in this epoch
	spoken  grant           // what this node itself granted in the arbiter's name
	carried Lease
	renewAt time.Time // when many voters' grants are counted next
	counted bool      // votes is what counting would give, while it holds and frozen stays the same
	frozen  time.Time // as Scene has it, when votes was counted
	held    bool      // lease held at the last look

	valid []vote // of validVotes, to be used again
	tally *tally // of countVotes, likewise

	suspended bool      // since the last look
	lastAt    time.Time // when votes last held, or the first view was installed; moved by Awake
}

// Change is what a renewal made of the lease. Both are set when it had lapsed before it was
// renewed.
type Change struct {
	Lost, Regained bool
	Suspended      bool // the process stood still since the last look
}

// NewHolder returns a Holder without a lease.
func NewHolder(cfg Config) *Holder {
	return &Holder{cfg: cfg, tally: newTally()}
}

// Lease is what this node may rely on.
func (h *Holder) Lease() Lease { return h.lease }

// Votes is what a quorum granted, whether this node may use it or not.
func (h *Holder) Votes() Lease { return h.votes }

// Held reports whether the lease held when it was last renewed.
func (h *Holder) Held() bool { return h.held }

// LastAt is when a quorum's votes last held.
func (h *Holder) LastAt() time.Time { return h.lastAt }

// Begin starts to count the time without a lease: the first view was installed.
func (h *Holder) Begin(now time.Time) { h.lastAt = now }

// Awake keeps time during which the process stood still out of LastAt.
func (h *Holder) Awake(gap time.Duration) { h.lastAt = h.lastAt.Add(gap) }

// Suspend drops everything that was granted before the process stood still.
func (h *Holder) Suspend() {
	h.grants.clear()
	h.spoken = grant{}
	h.forget()
	h.suspended = true
}

// End drops the lease for good.
func (h *Holder) End() {
	h.forget()
	h.held = false
}

// forget drops everything that was counted so far.
func (h *Holder) forget() {
	h.carried = Lease{}
	h.votes = Lease{}
	h.arbiter = grant{}
	h.lease = Lease{epoch: h.lease.epoch}
}

// Install drops the grants of an epoch whose view is replaced at now, and carries the lease on.
func (h *Holder) Install(now time.Time) {
	l := h.lease
	if l.forever { // no other can have decided without this node, so it did so just now
		g := h.grantFrom(now)
		l = Lease{until: g.until, wall: g.wall}
	}
	h.carried = Lease{}
	if l.Holds(now) {
		h.carried = l
	}
	h.grants.clear()
	h.arbiter, h.spoken, h.counted = grant{}, grant{}, false
}

// LoseArbiter drops what this node granted itself in the arbiter's name.
func (h *Holder) LoseArbiter() { h.spoken, h.counted = grant{}, false }

// HasGrant reports whether a grant of a member counts.
func (h *Holder) HasGrant(u view.UID, now time.Time) bool { return h.grants.get(u).valid(now) }

// Take takes a member's grant, and the arbiter's with it, that answers a heartbeat sent then by
// both clocks. It reports whether the lease may last longer by it.
func (h *Holder) Take(s Scene, from view.UID, sent time.Time, wall int64, arbiter bool) bool {
	got := grant{until: sent.Add(h.cfg.Duration), wall: wall + int64(h.cfg.Duration)}
	if h.cfg.Defects.Planted(defect.LeaseFromReply) {
		got = h.grantFrom(s.Now)
	}
	was := h.grants.get(from)
	if got.until.After(was.until) {
		h.grants.set(from, got)
	}
	prolongs := h.prolongs(s, was.until, got)
	if arbiter && got.until.After(h.arbiter.until) {
		h.arbiter, prolongs = got, true
	}
	h.counted = h.counted && !prolongs && h.frozen.Equal(s.Frozen) && !h.movesWall(was, got)
	return prolongs
}

// movesWall reports whether the end of the votes by wall time may be another one with a newer grant in the place of an
// older. It is that of the votes' earliest, which need not be the one that ends first by monotonic time: wall time may
// be set.
func (h *Holder) movesWall(was, got grant) bool {
	return was.wall <= h.votes.wall || got.wall < h.votes.wall
}

// prolongs reports whether a grant can make the lease last longer: only one that comes to those
// which outlast it, and makes them a quorum.
func (h *Holder) prolongs(s Scene, counted time.Time, got grant) bool {
	if !h.held || h.votes.until.IsZero() {
		return !h.votes.forever
	}
	if counted.After(h.votes.until) || !got.until.After(h.votes.until) {
		return false
	}
	own, bounded := h.ownVote(s)
	return s.Quorum(func(u view.UID) bool {
		switch u {
		case h.cfg.Self:
			return !bounded || own.until.After(h.votes.until)
		case h.cfg.Arbiter:
			return h.arbiter.until.After(h.votes.until) || h.spoken.until.After(h.votes.until)
		}
		return h.grants.get(u).until.After(h.votes.until)
	})
}

// renewAtOnce bounds the voters up to which every grant is counted when it comes; with more,
// several at a time.
const renewAtOnce = 32

// RenewAt is when grants that were taken are counted. It is zero when that must be at once.
func (h *Holder) RenewAt(s Scene) time.Time {
	if len(s.Voters) <= renewAtOnce || !h.held || !s.Now.Before(h.renewAt) {
		return time.Time{}
	}
	return h.renewAt
}

// Renew computes until when a quorum's votes last, and what that means for this node.
func (h *Holder) Renew(s Scene) (c Change) {
	h.renewAt = s.Now.Add(h.cfg.Beat / 8)
	if s.Speaks {
		h.spoken, h.counted = h.grantFrom(s.Now), false
	}
	lapsed := !h.lease.Holds(s.Now) // what renews it may come before the node has noticed that it had ended
	if !h.counted || !h.frozen.Equal(s.Frozen) || !h.votes.Holds(s.Now) {
		h.votes, h.counted, h.frozen = h.countVotes(s), true, s.Frozen
	}
	h.lease = Lease{epoch: s.Epoch}
	if s.May {
		h.lease = h.votes.longer(h.carried)
		h.lease.epoch = s.Epoch
	}
	holds := h.lease.Holds(s.Now)
	if h.held && (lapsed || !holds) {
		c.Lost, c.Suspended = true, h.suspended
		h.held = false
	}
	c.Regained = holds && !h.held
	h.held, h.suspended = holds, false
	if h.votes.Holds(s.Now) || h.carried.Holds(s.Now) {
		h.lastAt = s.Now
	}
	return c
}

// grantFrom is a vote that counts for L from t on.
func (h *Holder) grantFrom(t time.Time) grant {
	return grant{until: t.Add(h.cfg.Duration), wall: t.UnixNano() + int64(h.cfg.Duration)}
}

// ownVote is the vote of this node for itself. V1: it is bounded from the moment on at which this
// node accepted a proposal for the next epoch. A vote without bound would outlast the freeze that
// the others keep to.
func (h *Holder) ownVote(s Scene) (g grant, bounded bool) {
	if s.Frozen.IsZero() {
		return grant{}, false
	}
	return h.grantFrom(s.Frozen), true
}

// Check verifies the invariants. Tests call it after every step.
func (h *Holder) Check(s Scene) error {
	l, most, planted := h.lease, s.Now.Add(h.cfg.Duration), h.cfg.Defects.Planted(defect.LeaseFromReply)
	for i, u := range h.grants.uids {
		if !planted && h.grants.of[i].until.After(most) {
			return fmt.Errorf("a grant of %v beyond L", u)
		}
	}
	switch {
	case l == (Lease{epoch: l.epoch}):
		return nil
	case !s.May:
		return errors.New("a lease of a node that is a learner, has stopped or has ended")
	case l.epoch != s.Epoch:
		return fmt.Errorf("a lease of %v in %v", l.epoch, s.Epoch)
	case l.forever && !s.Quorum(func(u view.UID) bool { return u == h.cfg.Self }):
		return errors.New("a lease without end")
	case !planted && l.until.After(most.Add(time.Millisecond)):
		return errors.New("a lease beyond L")
	}
	return nil
}
