package membership

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/nodelease"
	"github.com/coterie-go/coterie/ddata/membership/record"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Machine decides, together with those of the other nodes, which nodes are in, which is oldest and
// which may run.
//
//	seeking ──all founders locked, or a view that lists this node──► member ──► ended
//	   │  no cluster: probes seeds, founds or joins                  beats, grants, decides
//	   └──────────── refused, stalled, Leave ────────────────────────────────► (Effects.Done)
//
// Invariant: seeker is nil exactly when there is a view.
type Machine struct {
	step
	cfg    Config
	common bootstrap.Common  // what all nodes must have alike
	seeker *bootstrap.Seeker // the life before the first view
	member *member           // the life with a view, and what outlasts the first
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
			Formats: cfg.Formats,
		},
	}
	store := record.NewStore(cfg.Name, cfg.Disk != 0, cfg.planted)
	if len(loaded) > 0 {
		r, err := record.Decode(loaded)
		if err != nil {
			return nil, err
		}
		if r.Name != cfg.Name {
			return nil, fmt.Errorf("%w: it is of cluster %q, this node is of %q", ErrForeign, r.Name, cfg.Name)
		}
		if err := cfg.Formats.Speaks("the record of the last view", r.Format()); err != nil {
			return nil, fmt.Errorf("membership: %w", err)
		}
		if err := checkUID(r, cfg.UID); err != nil {
			return nil, err
		}
		store.Load(r)
	}
	m.member = newMember(&m.step, &m.cfg, &m.common, store, rng)
	r := store.Record()
	m.seeker = bootstrap.New(cfg.seeking(m.common), rng, m.member.storing, bootstrap.Memory{
		Last: r.Last, Pending: r.Pending, Settled: r.Settled, Free: r.Free, Clean: r.Clean.Of(cfg.Roles),
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
	m.enter(now)
	if now.After(m.now) {
		m.countAwake(now)
		m.now = now
	}
	switch {
	case m.seeker != nil:
		m.takeSeeking(in)
	case m.member.ending.parting.Err() != nil:
		m.member.takeParting(in)
	default:
		m.member.take(in)
	}
	for m.done == nil && m.isDue() {
		m.advance()
	}
	if m.done != nil { // nothing runs under its lease any more
		m.member.leasing.holder.End()
	}
	m.fx.Persist = m.member.storing.store.Write()
	return &m.fx.Effects
}

// advance does what time has made due, and finds out when something will be due next.
func (m *Machine) advance() {
	m.rest(m.cfg.HeartbeatInterval)
	if m.seeker == nil {
		m.member.advance()
		return
	}
	m.seeker.Advance(m.now)
	m.takeSeeker()
}

// countAwake keeps the time during which this process stood still out of what it gives up after: a
// step that comes long after its deadline shows that nothing ran here, and while nothing ran this
// node could neither hear the others nor ask them. A cluster whose nodes are all stopped together
// for long goes on when they are woken.
//
// It concerns patience alone. What others rely on, leases and promises, ends by the clocks, whether
// the process runs or not.
func (m *Machine) countAwake(now time.Time) {
	gap := now.Sub(m.nextAt)
	if gap < m.cfg.HeartbeatInterval {
		return // a busy machine: if it is always this late, it shall give up all the same
	}
	m.member.leasing.holder.Awake(gap)
	m.member.ending.parting.Awake(gap)
	if m.seeker != nil {
		m.seeker.Awake(gap)
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
func (m *Machine) View() *view.View { return m.member.installed() }

// Lease is the permission of this moment. The driver publishes it after each Step, before it
// carries out the effects.
func (m *Machine) Lease() nodelease.Lease { return m.member.leasing.holder.Lease() }

// Clean is the bound up to which the disk holds, of incarnations that are over, nothing but what the
// members have agreed on (record.Clean).
func (m *Machine) Clean() view.UID { return m.member.storing.store.Record().Clean.Of(m.cfg.Roles) }

// AllClose reports whether a view that is Closing has been told to the layers of this node, and of
// all members that it reaches. The machine finds out after a CloseCluster.
func (m *Machine) AllClose() bool { return m.member.allClose() }

// Stats returns the counters.
func (m *Machine) Stats() Stats { return m.stats }

// String prints the state in one line.
func (m *Machine) String() string {
	s := fmt.Sprintf("%v@%s", m.cfg.UID, m.cfg.Addr)
	switch {
	case m.done != nil:
		return fmt.Sprintf("%s ended: %v", s, m.done)
	case m.seeker != nil:
		return fmt.Sprintf("%s seeking %v", s, m.seeker)
	}
	return s + " " + m.member.String()
}

// Check verifies all invariants. Tests and the simulator call it after every step.
func (m *Machine) Check() error {
	if m.seeker == nil {
		return m.member.check()
	}
	switch {
	case m.member.view != nil:
		return errors.New("a node with a view looks for a cluster")
	case m.Lease().Holds(m.now):
		return errors.New("a lease without a view")
	}
	return m.seeker.Check()
}
