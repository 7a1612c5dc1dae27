package membership

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/downing"
)

// Lease is the permission to run entities and singletons. It is a value: the driver publishes the
// machine's lease after each step. A caller that is about to run something asks Holds with a time
// read at that moment, never with a cached one. The zero Lease holds never.
type Lease struct {
	epoch   Epoch
	until   time.Time // monotonic end; zero = none
	wall    int64     // wall end in Unix nanoseconds
	forever bool      // the own vote alone is a quorum
}

// Holds reports whether the lease holds at now. Monotonic time and wall time must both be within
// it: during a suspend monotonic time may stand still while the promises of the others run out.
func (l Lease) Holds(now time.Time) bool {
	return l.forever || now.Before(l.until) && now.UnixNano() < l.wall
}

// Forever reports whether the lease holds whatever the time is: the own vote alone is a quorum.
func (l Lease) Forever() bool { return l.forever }

// Epoch is the epoch of the view for which the lease was computed.
func (l Lease) Epoch() Epoch { return l.epoch }

// String prints the epoch, and that there is a lease or none.
func (l Lease) String() string {
	switch {
	case l.forever:
		return fmt.Sprintf("lease %v, alone", l.epoch)
	case l.until.IsZero():
		return fmt.Sprintf("no lease %v", l.epoch)
	}
	return fmt.Sprintf("lease %v", l.epoch)
}

// longer returns the lease that ends later; o has an end.
func (l Lease) longer(o Lease) Lease {
	if !l.forever && o.until.After(l.until) {
		return o
	}
	return l
}

// grant is one vote for the own lease, until a time on both clocks.
type grant struct {
	until time.Time // zero = none
	wall  int64
}

func (g grant) valid(now time.Time) bool { return now.Before(g.until) && now.UnixNano() < g.wall }

// holder keeps the own lease.
//
// carried is the lease of earlier epochs. It may be used up after a newer view was installed: a
// node that had not installed it yet would do the same, so nothing may depend on the contrary. A
// node that decides a still later view without this node has promised L on installing (R3), after
// the last of the older grants was given (R2).
type holder struct {
	lease   Lease // what this node may rely on
	votes   Lease // a quorum's grants, whatever the node's own status
	arbiter grant // what others granted in the arbiter's name in this epoch
	carried Lease
	renewAt time.Time // when many voters' grants are counted next
	held    bool      // lease held at the last look

	suspended bool      // since the last look
	lastAt    time.Time // when votes last held, or the first view was installed; moved by countAwake
}

// forget drops everything that was granted so far.
func (h *holder) forget() {
	h.carried = Lease{}
	h.votes = Lease{}
	h.arbiter = grant{}
	h.lease = Lease{epoch: h.lease.epoch}
}

func (h *holder) end() {
	h.forget()
	h.held = false
}

func (m *Machine) onGrant(r Receive, g Grant) {
	if !m.sameEpoch(r, g.Cluster, g.Epoch) && !m.anyEpoch(g.Cluster) {
		return
	}
	p := m.peers[r.From]
	sent := m.start.Add(time.Duration(g.Mono))
	if p == nil || g.Mono < 0 || sent.After(m.now) {
		m.stats.DroppedBad++
		return
	}
	if !g.Granted {
		return
	}
	m.stats.GrantsReceived++
	got := grant{until: sent.Add(m.cfg.LeaseDuration), wall: g.Wall + int64(m.cfg.LeaseDuration)}
	if m.cfg.Faults.LeaseFromReply {
		got = m.grantFrom(m.now)
	}
	counted := p.grant.until
	if got.until.After(counted) {
		p.grant = got
	}
	if h := &m.holder; g.Arbiter && got.until.After(h.arbiter.until) {
		h.arbiter = got
	} else if !m.prolongs(counted, got) {
		return
	}
	if len(m.voters) <= renewAtOnce || !m.holder.held || !m.now.Before(m.holder.renewAt) {
		m.renewLease()
		return
	}
	m.dueAt(m.holder.renewAt)
}

// prolongs reports whether a grant can make the lease last longer: only one that comes to those
// which outlast it, and makes them a quorum.
func (m *Machine) prolongs(counted time.Time, got grant) bool {
	h := &m.holder
	if !h.held || h.votes.until.IsZero() {
		return !h.votes.forever
	}
	if counted.After(h.votes.until) || !got.until.After(h.votes.until) {
		return false
	}
	own, bounded := m.ownVote()
	return m.quorum(func(u UID) bool {
		switch u {
		case m.cfg.UID:
			return !bounded || own.until.After(h.votes.until)
		case downing.Arbiter:
			return h.arbiter.until.After(h.votes.until) || m.arbiter.vote.until.After(h.votes.until)
		}
		p := m.peers[u]
		return p != nil && p.grant.until.After(h.votes.until)
	})
}

// renewAtOnce bounds the voters up to which every grant is counted when it comes; with more,
// several at a time.
const renewAtOnce = 32

// grantFrom is a vote that counts for L from t on.
func (m *Machine) grantFrom(t time.Time) grant {
	return grant{until: t.Add(m.cfg.LeaseDuration), wall: t.UnixNano() + int64(m.cfg.LeaseDuration)}
}

// forgetGrants makes the lease lost until it is renewed.
func (m *Machine) forgetGrants() {
	for _, p := range m.peers { // order: each is cleared for itself
		p.grant = grant{}
	}
	m.arbiter.vote = grant{}
	m.holder.forget()
}

// lossCause says why the lease is lost at this moment.
func (m *Machine) lossCause() LeaseLoss {
	switch {
	case m.self.stopped:
		return LeaseStopped
	case m.holder.suspended:
		return LeaseSuspended
	}
	return LeaseExpired
}

// renewLease computes until when a quorum's votes last, and what that means for this node.
func (m *Machine) renewLease() {
	h := &m.holder
	h.renewAt = m.now.Add(m.cfg.HeartbeatInterval / 8)
	if m.speaks() && !m.acceptor.Frozen() {
		m.arbiter.vote = m.grantFrom(m.now)
	}
	lapsed := !h.lease.Holds(m.now) // what renews it may come before the node has noticed that it had ended
	h.votes = m.countVotes()
	h.lease = Lease{epoch: m.view.Epoch}
	if me, ok := m.view.Member(m.cfg.UID); ok && me.Status != Joining && (!m.self.stopped || m.cfg.Faults.StoppedHolds) {
		h.lease = h.votes.longer(h.carried)
		h.lease.epoch = m.view.Epoch
	}
	holds := h.lease.Holds(m.now)
	if h.held && (lapsed || !holds) {
		m.stats.LeasesLost++
		m.event(LeaseLost{m.view.Epoch, m.lossCause()})
		h.held = false
	}
	if holds && !h.held {
		m.event(LeaseRegained{m.view.Epoch})
	}
	h.held, h.suspended = holds, false
	if h.votes.Holds(m.now) || h.carried.Holds(m.now) {
		h.lastAt = m.now
	}
}

// vote is what one voter granted.
type vote struct {
	uid UID
	grant
}

// countVotes finds until when a quorum's votes last: the fewest that are one, the longest first.
// What contains a quorum is one, so the number can be searched for.
func (m *Machine) countVotes() Lease {
	own, bounded := m.ownVote()
	counts := !bounded || own.valid(m.now)
	votes := m.validVotes()
	rank := make(map[UID]int, len(votes))
	for i, v := range votes {
		rank[v.uid] = i + 1
	}
	enough := func(n int) bool {
		return m.quorum(func(u UID) bool {
			return u == m.cfg.UID && counts || rank[u] != 0 && rank[u] <= n
		})
	}
	n := sort.Search(len(votes)+1, enough)
	switch {
	case n > len(votes):
		return Lease{epoch: m.view.Epoch}
	case n == 0 && !bounded:
		return Lease{epoch: m.view.Epoch, forever: true}
	}
	used := votes[:n]
	if bounded && counts {
		used = append(used, vote{m.cfg.UID, own})
	}
	l := Lease{epoch: m.view.Epoch, until: used[0].until, wall: used[0].wall}
	for _, v := range used[1:] {
		l.wall = min(l.wall, v.wall)
		if v.until.Before(l.until) {
			l.until = v.until
		}
	}
	return l
}

// validVotes are the grants of other voters, and of the arbiter, that have not run out, the longest
// first.
func (m *Machine) validVotes() []vote {
	votes := make([]vote, 0, len(m.voters)+2)
	for _, v := range m.voters {
		if p := m.peers[v.UID]; p != nil && p.grant.valid(m.now) {
			votes = append(votes, vote{v.UID, p.grant})
		}
	}
	g := m.holder.arbiter
	if m.arbiter.vote.until.After(g.until) {
		g = m.arbiter.vote
	}
	if g.valid(m.now) {
		votes = append(votes, vote{downing.Arbiter, g})
	}
	slices.SortFunc(votes, func(a, b vote) int {
		return cmp.Or(b.until.Compare(a.until), cmp.Compare(a.uid, b.uid))
	})
	return votes
}

// ownVote is the vote of this node for itself. V1: it is bounded from the moment on at which this
// node accepted a proposal for the next epoch. A vote without bound would outlast the freeze that
// the others keep to.
func (m *Machine) ownVote() (g grant, bounded bool) {
	if !m.acceptor.Frozen() || m.cfg.Faults.NoV1 {
		return grant{}, false
	}
	return m.grantFrom(m.acceptor.FrozenAt()), true
}

// carryLease is called when the next view is about to be installed.
func (m *Machine) carryLease() {
	h := &m.holder
	l := h.lease
	if l.forever { // no other can have decided without this node, so it did so just now
		g := m.grantFrom(m.now)
		l = Lease{until: g.until, wall: g.wall}
	}
	h.carried = Lease{}
	if l.Holds(m.now) {
		h.carried = l
	}
}

// advanceLease notices that the lease has run out, and gives up when it stays away.
func (m *Machine) advanceLease() {
	m.renewLease()
	h := &m.holder
	if !h.lease.forever && h.held {
		m.dueAt(h.lease.until)
	}
	if h.votes.forever {
		return
	}
	limit := h.lastAt.Add(m.cfg.SelfDownAfter)
	m.dueAt(limit)
	if m.now.Before(limit) {
		return
	}
	if m.mayGo() {
		m.becomeGone()
		return
	}
	m.becomeDowned(fmt.Sprintf("no lease for %v: too few of the members of view %v answered", m.cfg.SelfDownAfter, m.view.Epoch))
}
