package membership

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/arbitration"
	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/joiners"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/nodelease"
	"github.com/coterie-go/coterie/ddata/membership/parting"
	"github.com/coterie-go/coterie/ddata/membership/record"
	"github.com/coterie-go/coterie/ddata/membership/report"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/membership/voting"
)

// Machine decides, together with those of the other nodes, which nodes are in, which is oldest and
// which may run.
//
//	seeking ──all founders locked, or a view that lists this node──► member ──► ended
//	   │  no cluster: probes seeds, founds or joins                  beats, grants, decides
//	   └──────────── refused, stalled, Leave ────────────────────────────────► (Effects.Done)
//
// Invariants: view is nil exactly while seeking.
type Machine struct {
	cfg   Config
	fx    outbox
	stats Stats

	clock
	done error

	common bootstrap.Common // what all nodes must have alike

	self    report.Own
	store   *record.Store     // what the disk holds, or is about to
	seeker  *bootstrap.Seeker // nil once there is a view
	view    *view.Installed   // nil while seeking
	reports *report.Table
	reach   *downing.Reach
	voter   *voting.Voter
	granter *voting.Granter
	holder  *nodelease.Holder
	arbiter *arbitration.Carrier
	joiners *joiners.Table
	downs   downing.Verdicts
	debts   parting.Debts // nodes that have to hear from this one what was decided
	parting *parting.Parting

	settlement *view.Settlement // of the view

	fetches  pause // between questions for a newer view
	second   pause // between events that there is a second cluster
	slowMove pause // between events that a move waits
}

// New returns a machine that knows nothing but its configuration and the record that the last
// incarnation on this disk persisted (nil = none). Step it with Tick to start it.
func New(cfg Config, rng *rand.Rand, loaded []byte) (*Machine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("membership: configuration: %w", err)
	}
	cfg.setDefaults()
	m := &Machine{
		cfg: cfg, common: bootstrap.Common{
			Name: cfg.Name, Addr: cfg.Addr, Settings: cfg.settings(), ConfigHash: cfg.hash(),
		},
	}
	m.store = record.NewStore(cfg.Name, cfg.Disk != 0, cfg.Defects.ToldUnstored)
	if len(loaded) > 0 {
		r, err := record.Decode(loaded)
		if err != nil {
			return nil, err
		}
		if r.Name != cfg.Name {
			return nil, fmt.Errorf("%w: it is of cluster %q, this node is of %q", ErrForeign, r.Name, cfg.Name)
		}
		m.store.Load(r)
	}
	m.reports, m.reach = report.NewTable(cfg.UID, &m.self),
		downing.NewReach(cfg.UnreachableAfter, cfg.HeartbeatInterval)
	m.joiners = joiners.NewTable(joiners.Config{
		TTL: cfg.joinerTTL(), Settled: 2 * cfg.UnreachableAfter, GoneFor: goneAfter * cfg.SelfDownAfter,
	})
	m.holder = nodelease.NewHolder(nodelease.Config{
		Self: cfg.UID, Arbiter: downing.Arbiter, Duration: cfg.LeaseDuration, Beat: cfg.HeartbeatInterval,
		FromReply: cfg.Defects.LeaseFromReply,
	})
	m.arbiter = arbitration.New(arbitration.Config{
		Self: cfg.UID, Strategy: cfg.Strategy, Beat: cfg.HeartbeatInterval, Promise: cfg.promise(),
		SelfDownAfter: cfg.SelfDownAfter,
		NoRecord:      cfg.Defects.NoArbiterRecord, NoWait: cfg.Defects.NoArbiterWait,
	})
	m.parting = parting.New(parting.Config{
		Self: cfg.UID, Beat: cfg.HeartbeatInterval, Most: cfg.UnreachableAfter, Untold: cfg.Defects.GoesUntold,
	})
	m.granter = voting.NewGranter(cfg.voting())
	m.voter = voting.New(cfg.voting(), rng, disk{m}, m.arbiter, m.granter)
	r := m.store.Record()
	m.seeker = bootstrap.New(cfg.seeking(m.common), rng, disk{m}, bootstrap.Memory{
		Last: r.Last, Pending: r.Pending, Settled: r.Settled, Free: r.Free,
	})
	m.wake = true
	return m, nil
}

// Step takes one input. The effects are valid until the next Step. After Effects.Done a step does
// nothing.
func (m *Machine) Step(now time.Time, in Input) *Effects {
	m.fx.reset()
	m.stats.Steps++
	if m.done != nil {
		return &m.fx.Effects
	}
	if m.start.IsZero() {
		m.start, m.now, m.wake = now, now, true
	}
	if now.After(m.now) {
		m.countAwake(now)
		m.now = now
	}
	if m.parting.Err() == nil {
		m.take(in)
	} else {
		m.takeParting(in)
	}
	for m.done == nil && m.isDue() {
		m.advance()
	}
	m.fx.Persist = m.store.Write()
	return &m.fx.Effects
}

func (m *Machine) take(in Input) {
	switch in := in.(type) {
	case Tick:
	case Receive:
		m.onReceive(in)
	case Hint:
		m.onHint(in)
	case Discovered:
		if m.view == nil {
			m.seeker.Discovered(m.now, in.Found, in.Err)
			m.takeSeeker()
		}
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
		if m.self.CatchUp(in.Yes) {
			m.tellVoters()
		}
	case Settled:
		m.onSettled(in.Epoch)
	case Moved:
		if m.self.Move(in.Number) {
			m.tellVoters()
		}
	case Persisted:
		m.onPersisted(in)
	case ArbiterAcquired:
		m.onArbiterAcquired(in)
	case ArbiterDenied:
		m.arbiter.Denied(m.now, in.Err)
		m.takeArbiter()
	case ArbiterSaved:
		m.onArbiterSaved(in)
	case ArbiterLost:
		m.onArbiterLost(in)
	case ArbiterProlonged:
		m.arbiter.Prolong(in.Until)
	case Suspended:
		m.holder.Suspend()
		// its Until may be on a clock that stood still: asking again tells
		m.onArbiterLost(ArbiterLost{Err: "this node was suspended"})
		m.tell()
	}
}

func (m *Machine) onReceive(r Receive) {
	if r.From == m.cfg.UID || r.From == 0 || r.Msg == nil {
		m.stats.DroppedBad++
		return
	}
	if m.reach.Heard(r.From, m.now) {
		m.wake = true
	}
	m.debts.Hear(r.From, m.now)
	switch msg := r.Msg.(type) {
	case bootstrap.Probe:
		m.onProbe(r, msg)
	case bootstrap.JoinReply, bootstrap.Refuse, bootstrap.Lock:
		m.onBootstrap(r)
	case message.Heartbeat:
		m.onHeartbeat(r, msg)
	case message.Grant:
		m.onGrant(r, msg)
	case message.Fetch:
		m.onFetch(r, msg)
	case message.Commit:
		m.onCommit(r, msg)
	case message.Prepare:
		m.onBallot(r, msg.Cluster, msg.Epoch)
	case message.Prepared:
		m.onBallot(r, msg.Cluster, msg.Epoch)
	case message.Accept:
		m.onBallot(r, msg.Cluster, msg.Epoch)
	case message.Accepted:
		m.onBallot(r, msg.Cluster, msg.Epoch)
	case message.Rejected:
		m.onBallot(r, msg.Cluster, msg.Epoch)
	case message.Learned:
		m.onLearned(r, msg)
	}
}

// advance does what time has made due, and finds out when something will be due next.
func (m *Machine) advance() {
	m.rest(m.cfg.HeartbeatInterval)
	if m.view == nil {
		m.seeker.Advance(m.now)
		m.takeSeeker()
		return
	}
	if m.parting.Err() != nil {
		m.advanceParting()
		return
	}
	m.advanceBeat()
	m.advanceReach()
	m.advanceLease()
	if m.done == nil {
		m.advanceLeave()
	}
	if m.done == nil {
		if m.arbiter.Expired(m.now) {
			m.onArbiterLost(ArbiterLost{Err: "it has expired"})
		}
		m.arbiter.Advance(m.arbiterScene())
		m.takeArbiter()
		m.voter.Advance(m.scene())
		m.takeVoter()
		m.tellSlowMove()
	}
}

// Deadline is when to step Tick at the latest; zero = never.
func (m *Machine) Deadline() time.Time {
	if m.done != nil {
		return time.Time{}
	}
	return m.nextAt
}

// HeartbeatInterval is the time between heartbeats, as configured.
func (m *Machine) HeartbeatInterval() time.Duration { return m.cfg.HeartbeatInterval }

// View is the installed view, nil before the first. It is immutable.
func (m *Machine) View() *view.View {
	if m.view == nil {
		return nil
	}
	return m.view.View
}

// Self is this node as its view lists it; before the first view, as it asks to be listed.
func (m *Machine) Self() view.Member {
	if m.view != nil {
		if me, ok := m.view.Member(m.cfg.UID); ok {
			return me
		}
	}
	return m.cfg.self()
}

// Lease is the permission of this moment. The driver publishes it after each Step, before it
// carries out the effects.
func (m *Machine) Lease() nodelease.Lease { return m.holder.Lease() }

// Reachable reports whether this node hears the member, and of the Arbiter, whether it hears a node
// that speaks for it. It always hears itself.
func (m *Machine) Reachable(u view.UID) bool {
	switch u {
	case m.cfg.UID:
		return true
	case downing.Arbiter:
		return m.arbiter.Hears(m.arbiterScene())
	}
	return m.reach.Hears(u)
}

// Done is how the machine ended, nil while it runs.
func (m *Machine) Done() error { return m.done }

// Stats returns the counters.
func (m *Machine) Stats() Stats { return m.stats }

// String prints the state in one line.
func (m *Machine) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v@%s", m.cfg.UID, m.cfg.Addr)
	if m.done != nil {
		fmt.Fprintf(&b, " ended: %v", m.done)
		return b.String()
	}
	if m.view == nil {
		fmt.Fprintf(&b, " seeking %v", m.seeker)
		return b.String()
	}
	fmt.Fprintf(&b, " %v; %v", m.view, m.holder.Lease())
	if f := m.flags(); f != 0 {
		fmt.Fprintf(&b, "; %v", f)
	}
	if !m.voter.Idle() {
		fmt.Fprintf(&b, "; %v", m.voter)
	}
	for _, o := range m.view.Members {
		if !m.reach.UnreachableSince(o.UID).IsZero() {
			fmt.Fprintf(&b, "; %v unreachable", o.UID)
		}
	}
	return b.String()
}

// becomeDone ends the machine: nothing runs under its lease any more.
func (m *Machine) becomeDone(err error) {
	if downed, ok := err.(*DownedError); ok {
		m.fx.event(Downed{downed.Cause})
	}
	m.done = err
	m.fx.Done = err
	m.holder.End()
}

// Check verifies all invariants. Tests and the simulator call it after every step.
func (m *Machine) Check() error {
	if m.view == nil {
		if m.holder.Lease().Holds(m.now) {
			return errors.New("a lease without a view")
		}
		return m.seeker.Check()
	}
	v, lease := m.view.View, m.leaseScene()
	lease.May = lease.May && m.done == nil
	errs := []error{
		m.view.Check(m.cfg.UID), m.joiners.Check(v), m.downs.Check(v), m.reports.Check(v),
		m.voter.Check(m.view), m.granter.Check(v, m.now), m.holder.Check(lease), m.arbiter.Check(),
	}
	if r := m.store.Record(); r.Last != v || r.Settled > v.Epoch {
		errs = append(errs, errors.New("the installed view is not on disk"))
	}
	if m.done == nil { // else nothing is written any more
		errs = append(errs, m.store.Check(), m.fx.notices.check(v, m.store.IsStored))
	}
	return errors.Join(errs...)
}
