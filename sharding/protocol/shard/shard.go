package shard

import (
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// Shard is the life of the entities of one shard on the node that hosts it. An entity that is
// active does not need it: it is asked only when a message comes for an id that is not active, when
// an entity ends or wants to, and when ids are written.
//
//	closed ──Open──► loading ──ids read──► open ──Drain──► draining ──mailboxes empty──► drained
//	                    │                   ▲ ▲               │                             │
//	                    │ Stop              │ └─── Resume ────┴─────────────────────────────┤ Stop
//	                    ▼                   │ Resume                                        ▼
//	                 stopped ◄── all entities ended, all writes done ──────────────────► stopping
//
// With Lease it is leasing before it is loading, until the shard's lease is granted; what loading
// means for a Stop or a Drain it means then, too. And it is returning before it is stopped, until
// the lease is given back.
//
// With Remember each id is written before its entity starts, and removed after it was passivated.
// At most one write is outstanding; what comes meanwhile travels together in the next one. While
// ids are in the set, the shard itself is in the set of shards with remembered ids: it is added
// before its first id and removed after its last.
type Shard struct {
	env
	population population
	leaseState protocol.LeaseState // of the shard's lease
	stopAt     time.Time           // when entities that do not stop are forced, then reported
	forced     bool
	drainAsked bool // DrainMailboxes is unanswered
}

// New makes the machine of one shard. It is closed.
func New(cfg protocol.Config, rng *rand.Rand, shard protocol.ShardID) (*Shard, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Shard{env: env{cfg: cfg.WithDefaults(), id: shard}}
	s.population.init(&s.env, rng.Uint64())
	return s, nil
}

// Step feeds one input. The effects are valid until the next Step.
func (s *Shard) Step(now time.Time, in protocol.ShardInput) *protocol.ShardEffects {
	s.begin(now)
	switch in := in.(type) {
	case protocol.Tick:
		s.onTick()
	case protocol.Open:
		s.onOpen(in.Wait)
	case protocol.Wake:
		s.population.onWake(in.ID)
	case protocol.StartEntity:
		s.population.onStartEntity(in.ID, in.Req)
	case protocol.Passivate:
		s.population.onPassivate(in)
	case protocol.EntityStopped:
		s.population.onEntityStopped(in.ID)
	case protocol.StartedElsewhere:
		s.population.onStartedElsewhere(in.IDs)
	case protocol.Unlisted:
		s.population.store.onUnlisted()
	case protocol.IDsChanged:
		s.population.onIDsChanged(in)
	case protocol.Drain:
		s.onDrain(in.HandOff)
	case protocol.MailboxesEmpty:
		s.onMailboxesEmpty(in.HandOff)
	case protocol.Stop:
		s.onStop(in.HandOff, in.Force)
	case protocol.Resume:
		s.onResume()
	case protocol.Wrote:
		s.population.onWrote(in.ID, in.Err)
	case protocol.DidRead:
		s.onRead(in)
	case protocol.LeaseGranted, protocol.LeaseRefused, protocol.LeaseLost:
		s.onLeaseAnswer(in)
	case protocol.LeaseReleased:
		s.onLeaseReleased(in.Gen)
	}
	s.population.store.pump()
	s.population.flushStarts()
	s.population.strangers.forward()
	s.maybeDrainMailboxes()
	s.maybeStopped()
	return &s.fx
}

// Deadline is when the shard wants a Tick; the zero time means never.
func (s *Shard) Deadline() time.Time {
	var d time.Time
	p := &s.population
	if p.roll.known {
		return s.now // for the next part
	}
	for _, t := range [...]time.Time{p.entities.passivating.next(), p.restartDue(), p.recovery.at, s.stopAt,
		p.store.retryAt, p.store.tidyAt,
		p.store.lateAt, p.strangers.due(), s.leaseState.Deadline()} {
		if !t.IsZero() && (d.IsZero() || t.Before(d)) {
			d = t
		}
	}
	return d
}

func (s *Shard) onTick() {
	s.enter()
	for id := range s.population.entities.passivating.expired(s.now, &s.population.entities) {
		s.do(protocol.ForceStop{ID: id})
		s.notify(protocol.Event{Kind: protocol.PassivationForced, Entity: id})
	}
	if s.phase == shardOpen {
		for id := range s.population.entities.restarting.expired(s.now, &s.population.entities) {
			s.population.entities.restore(id)
		}
		s.population.recovery.recover()
	}
	if !s.stopAt.IsZero() && !s.now.Before(s.stopAt) {
		s.onStopTimeout()
	}
	if s.leaseState.Overdue(s.now) {
		s.onLeaseDue()
	}
	s.population.store.retry()
	s.population.store.maybeLate()
	if !s.now.Before(s.population.store.tidyAt) {
		s.population.store.tidyAt = time.Time{}
	}
}
