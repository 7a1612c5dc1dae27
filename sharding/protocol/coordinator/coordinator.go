package coordinator

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Coordinator decides where the shards of one entity type live. Every node with the role has one;
// it acts only where the installed view has the node in charge, and only while it holds its lease.
//
//	idle ─in charge► reading ──majority read──► inquiring ──all members reported──► active
//	  ▲                                                                               │
//	  └─────────────────────────── no longer in charge ◄──────────────────────────────┘
//
// With CoordinatorLease it waits for its lease before it is reading, until its lease is granted,
// and begins anew when that is lost. All that it knows of one term is in one value, term.
type Coordinator struct {
	env
	term       term
	leaseState protocol.LeaseState // of the coordinator's lease
	outranked  other
	resigned   bool // this node is about to stop
}

// New makes a coordinator. It is idle until a view is installed.
func New(cfg protocol.Config, _ *rand.Rand) (*Coordinator, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	c := &Coordinator{env: env{
		cfg: cfg.WithDefaults(), seq: cfg.Predecessor.Seq,
		unreachable: map[protocol.UID]bool{}, refused: map[protocol.UID]bool{}, absent: map[protocol.UID]bool{},
		unguarded: map[protocol.UID]bool{}, told: map[protocol.UID]told{},
	}}
	c.term = newTerm(&c.env)
	return c, nil
}

// Step feeds one input. The effects are valid until the next Step.
func (c *Coordinator) Step(now time.Time, in protocol.CoordinatorInput) *protocol.CoordinatorEffects {
	c.begin(now)
	switch in := in.(type) {
	case protocol.Tick:
		c.onTick()
	case protocol.Install:
		c.onInstall(in.View)
	case protocol.LeaseChanged:
		c.onLease(in.Held)
	case protocol.Receive:
		c.onReceive(in.From, in.Msg)
	case protocol.TableChanged:
		c.term.onTable(in.Entries)
	case protocol.Wrote:
		c.onWrote(in)
	case protocol.DidRead:
		c.term.onRead(in)
	case protocol.Reachable:
		c.onReachable(in.UID, in.OK)
	case protocol.RememberedChanged:
		c.term.onRemembered(in.Shards)
	case protocol.StartedElsewhere:
		c.term.onStartedElsewhere(in.IDs)
	case protocol.LocationsChanged:
		c.term.onLocations(in)
	case protocol.Advised:
		c.term.onAdvised(in.Advice)
	case protocol.BalanceNow:
		c.onBalanceNow()
	case protocol.Resign:
		c.onResign()
	case protocol.LeaseGranted, protocol.LeaseRefused, protocol.LeaseLost:
		c.onLeaseAnswer(in)
	}
	c.term.flush()
	return &c.fx
}

func (c *Coordinator) onReceive(from protocol.UID, m protocol.Message) {
	switch {
	case c.tookRole(from, m):
	case c.term.mode == reading || c.term.mode == inquiring:
		c.term.onEarly(from, m)
	case c.term.mode != active || !c.lease:
		c.counts[protocol.CountNotActing]++
	default:
		c.term.onReceive(from, m)
	}
}

// Deadline is when the coordinator wants a Tick; the zero time means never.
func (c *Coordinator) Deadline() time.Time {
	var d time.Time
	for _, t := range [...]time.Time{c.term.retryAt, c.term.rebalanceAt, c.leaseState.Deadline()} {
		if !t.IsZero() && (d.IsZero() || t.Before(d)) {
			d = t
		}
	}
	return d
}

// Stats are the named counters, in a fixed order.
func (c *Coordinator) Stats() []protocol.Counter { return c.counts.Stats() }

// Acts reports whether this coordinator decides now.
func (c *Coordinator) Acts() bool { return c.term.mode == active && c.lease }

// Term is what a store tells this coordinator's term by from others. before is below the token of every hosting that
// goes on, or that begins in this term, and above those of all hostings from before all nodes of the type were stopped
// last. Both mean something while the coordinator acts.
func (c *Coordinator) Term() (term, before protocol.Term) {
	t := c.term.registrar.floor
	if kept := c.term.kept; !kept.IsZero() && kept.Less(t) {
		t = kept
		t.Seq-- // of the coordinator that has commanded it, and at least its floor
	}
	term = c.term.store.term
	return term, protocol.Term{Era: term.Era, Epoch: view.Epoch(t.Epoch), Up: t.Up, Seq: t.Seq}
}

// Predecessor is what holds for the coordinators that come after this one on its node.
func (c *Coordinator) Predecessor() protocol.Predecessor { return protocol.Predecessor{Seq: c.seq} }

func (c *Coordinator) onLease(held bool) {
	if c.lease == held {
		return
	}
	c.lease = held
	if held && c.term.mode > leaseWaiting {
		c.term.retryAt = c.now // what was not sent meanwhile
	}
}

// onTick repeats what has not been answered, gives up hand-offs that took too long, and looks at
// the balance.
func (c *Coordinator) onTick() {
	if !c.term.retryAt.IsZero() && !c.now.Before(c.term.retryAt) {
		c.ticks++
		c.term.retryAt = c.now.Add(c.cfg.Coordination.RetryInterval / 4)
		c.term.retry()
	}
	if !c.term.rebalanceAt.IsZero() && !c.now.Before(c.term.rebalanceAt) {
		c.term.rebalanceAt = c.now.Add(c.cfg.Rebalance.Interval)
		c.term.rebalance()
	}
	if c.leaseState.Overdue(c.now) {
		c.onLeaseDue()
	}
}

// onBalanceNow looks at the balance as if that were due. What keeps a look from moving shards holds for
// this one, too.
func (c *Coordinator) onBalanceNow() {
	if !c.Acts() {
		c.counts[protocol.CountNotActing]++
		return
	}
	c.term.rebalance()
}

// onInstall takes a view. The shards of a member that is gone get new homes at once: the view that
// dropped it proves that its lease is over.
func (c *Coordinator) onInstall(v *view.View) {
	if c.view != nil && v.Epoch <= c.view.Epoch {
		c.counts[protocol.CountStale]++
		return
	}
	c.install(v)
	first, ok := v.InCharge(c.cfg.Service())
	if may := c.mayAct(v); !ok || first.UID != c.cfg.Self || c.resigned || !may {
		if c.term.mode != idle {
			c.becomeIdle()
		}
		return
	}
	c.me = first
	if c.term.mode == idle {
		c.becomeLeaseWaiting()
		return
	}
	c.term.onInstall()
}

// onWrote takes the outcome of a write. If a later coordinator has taken over the ledger, the term is
// over: nothing of it will be written any more. The next one begins with a read. The ledger refuses
// that, too, until this node has a view that is later than the other coordinator's.
func (c *Coordinator) onWrote(in protocol.Wrote) {
	if !errors.Is(in.Err, protocol.ErrDeposed) || !c.term.store.awaits(in.ID) {
		c.term.onWrote(in.ID, in.Err)
		return
	}
	c.counts[protocol.CountStateError]++
	c.notify(protocol.Event{Kind: protocol.CoordinatorDeposed, Text: in.Err.Error()})
	c.endTerm()
	c.term.becomeReading() // its lease, if it needs one, is still held
}

// becomeIdle ends the term.
func (c *Coordinator) becomeIdle() {
	c.releaseLease()
	c.endTerm()
}

// endTerm forgets what belongs to the term.
func (c *Coordinator) endTerm() {
	if c.term.mode == active {
		c.notify(protocol.Event{Kind: protocol.CoordinatorStopped})
	}
	next := newTerm(&c.env)
	next.chooser = c.term.chooser.carry()
	c.term = next
}

// Awaits are the members that must say what they host before this coordinator acts.
func (c *Coordinator) Awaits() []protocol.UID {
	if c.term.mode != inquiring {
		return nil
	}
	return c.term.takeover.awaiting
}
