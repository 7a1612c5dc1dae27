package membership

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/parting"
	"github.com/coterie-go/coterie/ddata/membership/record"
	"github.com/coterie-go/coterie/ddata/membership/report"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/membership/voting"
	"github.com/coterie-go/coterie/proptest/defect"
)

// member is the life of a node that has a view. It sorts inputs and messages out, and calls the
// owners of its state; what they own, they alone write.
//
//	view ──Leave──► leaving ──Stopped──► stopped ──all know, or a view without it──► ended
//	  └────── a view without it, no lease for SelfDownAfter ──────────────────────────┘
type member struct {
	*step
	*cluster
	cfg *Config

	storing *storing
	pulse   *pulse
	strays  *strays
	gate    *gate
	ballots *ballots
	leasing *leasing
	ending  *ending
	moves   *moves
	crashes *crashes
	ages    *ages
}

func newMember(st *step, cfg *Config, common *bootstrap.Common, store *record.Store, rng *rand.Rand) *member {
	c := newCluster(cfg)
	last := &ending{step: st, in: c, parting: parting.New(parting.Config{
		Self: cfg.UID, Beat: cfg.HeartbeatInterval, Most: cfg.UnreachableAfter, Defects: cfg.planted,
	})}
	m := &member{
		step: st, cluster: c, cfg: cfg, ending: last,
		storing: &storing{
			step: st, in: c, store: store, granter: voting.NewGranter(cfg.voting()), parting: last.parting,
		},
		pulse:   &pulse{step: st, in: c, interval: cfg.HeartbeatInterval},
		strays:  &strays{step: st, in: c, beat: cfg.HeartbeatInterval},
		gate:    newGate(st, cfg, c, common),
		moves:   &moves{step: st, in: c},
		crashes: &crashes{step: st, in: c, beat: cfg.HeartbeatInterval},
	}
	m.ages = &ages{step: st, in: c, disk: m.storing, beat: cfg.HeartbeatInterval}
	m.ballots = newBallots(st, cfg, rng, m.storing, m.gate, m.pulse)
	m.leasing = newLeasing(st, cfg, c, m.ballots)
	return m
}

func (m *member) take(in Input) {
	switch in := in.(type) {
	case Receive:
		m.onReceive(in)
	case Hint:
		m.onHint(in)
	case Dialled:
		m.crashes.dialled(in)
	case Leave:
		m.onLeave()
	case Stopped:
		m.onStopped()
	case Down:
		m.onDown(in.UID)
	case CloseCluster:
		m.self.AskToClose()
		m.close()
	case CaughtUp:
		if in.Yes {
			m.ages.caughtUp()
		}
		m.tellVoters(m.self.CatchUp(in.Yes))
	case Settled:
		m.onSettled(in.Epoch)
	case Moved:
		m.tellVoters(m.self.Move(in.Number))
	case Agreed:
		m.ages.agree(in.Epoch)
	case Offer:
		m.tellVoters(m.self.Offer(in.Service))
	case Persisted:
		m.onPersisted(in)
	case ArbiterAcquired:
		m.onArbiterAcquired(in)
	case ArbiterDenied:
		m.ballots.denied(in)
	case ArbiterSaved:
		m.onArbiterSaved(in)
	case ArbiterLost:
		m.onArbiterLost(in.Err)
	case ArbiterProlonged:
		m.ballots.arbiter.Prolong(in.Until)
	case Suspended:
		m.leasing.holder.Suspend()
		// its Until may be on a clock that stood still: asking again tells
		m.onArbiterLost("this node was suspended")
		m.pulse.tell()
	}
}

func (m *member) onReceive(r Receive) {
	if r.isSenseless(m.uid) {
		m.stats.DroppedBad++
		return
	}
	m.wakeIf(m.reach.Heard(r.From, m.now))
	m.ending.debts.Hear(r.From, m.now)
	switch msg := r.Msg.(type) {
	case bootstrap.Probe:
		m.gate.onProbe(r, msg, m.ballots.leads, m.ending.parting.Begun())
	case bootstrap.JoinReply, bootstrap.Refuse:
		m.stats.DroppedStale++
	case bootstrap.Locked:
		m.gate.onLock(r, msg)
	case message.Heartbeat:
		m.onHeartbeat(r, msg)
	case message.Grant:
		m.onGrant(r, msg)
	case message.Fetch:
		m.strays.onFetch(r, msg)
	case message.Commit:
		m.onCommit(r, msg.View)
	case message.Change:
		if v := m.strays.whole(r, msg); v != nil {
			m.onCommit(r, v)
		}
	case message.Crashed:
		m.crashes.hear(r, msg, m.strays.isCurrent)
	case message.Agreed:
		m.ages.hear(r, msg, m.strays.isCurrent)
	case message.Current: // all others are of a ballot
		m.onBallot(r, msg)
	case message.Learned:
		m.ending.onLearned(r, msg)
	}
}

// takeParting takes an input when this node is in no view any more.
func (m *member) takeParting(in Input) {
	if stored, ok := in.(Persisted); ok {
		m.onPersisted(stored)
		return
	}
	r, ok := in.(Receive)
	if !ok {
		return
	}
	m.ending.debts.Hear(r.From, m.now)
	switch msg := r.Msg.(type) {
	case message.Learned:
		m.ending.onLearned(r, msg)
	case message.Fetch:
		m.fx.send(r.From, m.addr(r), message.Commit{View: m.ending.parting.Without()})
	case message.Heartbeat:
		m.ending.answerParting(r, msg)
	case message.Commit:
		m.ending.answerCommit(r, msg.View)
	}
}

// advance does what time has made due.
func (m *member) advance() {
	if m.ending.parting.Err() != nil {
		m.advanceParting()
		return
	}
	m.pulse.advance(m.heartbeat, !m.leasing.holder.Votes().Holds(m.now))
	m.advanceReach()
	m.crashes.advance()
	m.ages.advance()
	m.leasing.advance()
	if m.done == nil {
		m.advanceLeave()
	}
	if m.done == nil {
		if m.ballots.arbiter.Expired(m.now) {
			m.onArbiterLost("it has expired")
		}
		m.decide(m.ballots.advance())
		m.moves.advance(m.ballots.leads)
		m.ages.explain(m.ballots.leads)
	}
}

// advanceReach tells which members fell silent, and which are heard again.
func (m *member) advanceReach() {
	changes, again := m.reach.Look(m.now, m.view.Members)
	for _, c := range changes {
		if c.Reachable {
			m.fx.event(MemberReachable{c.Member})
		} else {
			m.fx.event(MemberUnreachable{c.Member})
		}
	}
	m.dueAt(again)
}

// onBallot hands a message of a ballot to this node's voter.
func (m *member) onBallot(r Receive, msg message.Current) {
	cluster, epoch := msg.In()
	if !m.strays.isCurrent(r, cluster, epoch) {
		m.strays.tellView(r, cluster, epoch, m.heartbeat)
		return
	}
	m.decide(m.ballots.on(r))
}

// onPersisted goes on with what waited for the disk.
func (m *member) onPersisted(in Persisted) {
	was := m.storing.isClean()
	if m.storing.written(in) {
		m.tellViews()
		m.tellVoters(!was && m.storing.isClean()) // that it has caught up
		m.decide(m.ballots.stored())
	}
}

// onArbiterAcquired makes this node the arbiter's mouth. What the arbiter has decided is installed;
// what it has promised binds this node.
func (m *member) onArbiterAcquired(in ArbiterAcquired) {
	r, ok := m.ballots.acquired(in)
	if ok && r.View != nil {
		m.onDecided(r.View)
	}
	if ok && m.done == nil {
		m.ballots.bind(r)
	}
	m.ballots.takeArbiter()
}

// onArbiterSaved goes on with what the arbiter has done, now that it is certain.
func (m *member) onArbiterSaved(in ArbiterSaved) {
	known, won := m.ballots.saved(in)
	if known != nil {
		m.onDecided(known)
	}
	m.decide(won)
}

// onArbiterLost gives up what this node had by the arbiter's word.
func (m *member) onArbiterLost(why string) {
	if m.ballots.lost(why) {
		m.leasing.loseArbiter()
		m.ballots.takeArbiter()
	}
}

// onHint takes memberlist's word for what it is: a candidate to ask, or a reason to doubt.
func (m *member) onHint(h Hint) {
	if h.Alive {
		// One that seeks probes anyhow, and one that is in another cluster learns that there are two.
		if h.UID != 0 && h.UID != m.uid && !m.view.Has(h.UID) {
			m.fx.send(h.UID, h.Addr, message.Fetch{Cluster: m.view.Cluster})
		}
		return
	}
	for _, o := range m.view.Members {
		if o.UID == m.uid || o.UID != h.UID && (h.UID != 0 || o.Addr != h.Addr) {
			continue
		}
		if m.cfg.Planted(defect.DeadMeansRemoved) {
			m.removeByHint(o.UID)
			return
		}
		m.reach.Suspect(o.UID, m.now)
		m.fx.send(o.UID, m.view.Addr(o.UID), m.heartbeat())
		m.wake = true
	}
}

// removeByHint is the planted defect DeadMeansRemoved: what a cluster that trusts its failure
// detector would do.
func (m *member) removeByHint(u view.UID) {
	next := m.view.Next(m.view.Digest)
	next.Members = nil
	for _, o := range m.view.Members {
		if o.UID != u {
			next.Members = append(next.Members, o)
		}
	}
	next.Enlist(func(view.UID) []view.Service { return nil })
	if next.Check() == nil {
		m.fx.announce(m.uid, m.view, next)
		m.install(next)
	}
}

// flags are those of this node's heartbeats.
func (m *member) flags() report.Flags {
	f := m.self.Flags()
	if !m.storing.isClean() {
		f &^= report.CaughtUp
	}
	if m.ballots.frozen() {
		f |= report.Frozen
	}
	if m.ballots.speaks() {
		f |= report.Arbiter
	}
	if m.ending.parting.AllStopped(m.view.Epoch) {
		f |= report.Parting
	}
	return f
}

// check verifies the invariants.
func (m *member) check() error {
	v, lease := m.view.View, m.leasing.scene()
	lease.May = lease.May && m.done == nil
	return errors.Join(
		m.cluster.check(), m.gate.joiners.Check(v),
		m.ballots.voter.Check(m.view), m.ballots.granter.Check(v, m.now), m.leasing.holder.Check(lease),
		m.ballots.arbiter.Check(), m.storing.check(),
	)
}

// String prints the state of a node with a view.
func (m *member) String() string {
	s := fmt.Sprintf("%v; %v", m.view, m.leasing.holder.Lease())
	if f := m.flags(); f != 0 {
		s += fmt.Sprintf("; %v", f)
	}
	if !m.ballots.voter.Idle() {
		s += fmt.Sprintf("; %v", m.ballots.voter)
	}
	for _, o := range m.view.Members {
		if !m.reach.UnreachableSince(o.UID).IsZero() {
			s += fmt.Sprintf("; %v unreachable", o.UID)
		}
	}
	return s
}
