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
	cfg protocol.Config
	rng *rand.Rand
	id  protocol.ShardID
	fx  protocol.ShardEffects
	now time.Time

	phase   shardPhase
	handOff protocol.Token // of draining to stopped

	entities map[protocol.EntityID]entity
	requests map[protocol.EntityID][]uint64 // StartEntity that wait
	early    []protocol.EntityID            // woken while nothing could start
	starts   []protocol.EntityID            // to be started with this Step
	restored int                            // of these, those that are because they are remembered
	changing int                            // entities that remember their start, passivate or remember their stop
	running  int                            // entities of which the runtime has an incarnation: an EntityStopped will come
	gen      uint32                         // names the transition that a timer belongs to

	passivating timers
	restarting  timers
	recovery    []protocol.EntityID // remembered, not started yet
	recoverAt   time.Time
	turns       int       // reserved for recoverAt
	stopAt      time.Time // when entities that do not stop are forced, then reported
	forced      bool
	drainAsked  bool // DrainMailboxes is unanswered

	leaseState protocol.LeaseState // of the shard's lease
	store      shardStore

	counts protocol.Counters
}

type shardPhase uint8

const (
	shardClosed shardPhase = iota
	shardLeasing
	shardLoading
	shardOpen
	shardDraining
	shardDrained
	shardStopping
	shardReturning
	shardStopped
)

var shardPhaseNames = [...]string{"closed", "leasing", "loading", "open", "draining", "drained", "stopping", "returning", "stopped"}

// New makes the machine of one shard. It is closed.
func New(cfg protocol.Config, rng *rand.Rand, shard protocol.ShardID) (*Shard, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Shard{
		cfg: cfg.WithDefaults(), rng: rng, id: shard, entities: map[protocol.EntityID]entity{}, requests: map[protocol.EntityID][]uint64{},
		store: shardStore{suspects: map[protocol.EntityID]bool{}},
	}, nil
}

// Step feeds one input. The effects are valid until the next Step.
func (s *Shard) Step(now time.Time, in protocol.ShardInput) *protocol.ShardEffects {
	s.fx = protocol.ShardEffects{
		Write: s.fx.Write[:0], Read: s.fx.Read[:0], Lease: s.fx.Lease[:0], Do: s.fx.Do[:0], Reply: s.fx.Reply[:0], Region: s.fx.Region[:0], Notify: s.fx.Notify[:0],
	}
	s.now = now
	switch in := in.(type) {
	case protocol.Tick:
		s.onTick()
	case protocol.Open:
		s.onOpen(in.Wait)
	case protocol.Wake:
		s.onWake(in.ID)
	case protocol.StartEntity:
		s.onStartEntity(in.ID, in.Req)
	case protocol.Passivate:
		s.onPassivate(in)
	case protocol.EntityStopped:
		s.onEntityStopped(in.ID)
	case protocol.StartedElsewhere:
		s.onStartedElsewhere(in.IDs)
	case protocol.Unlisted:
		s.onUnlisted()
	case protocol.IDsChanged:
		s.onIDsChanged(in)
	case protocol.Drain:
		s.onDrain(in.HandOff)
	case protocol.MailboxesEmpty:
		s.onMailboxesEmpty(in.HandOff)
	case protocol.Stop:
		s.onStop(in.HandOff, in.Force)
	case protocol.Resume:
		s.onResume()
	case protocol.Wrote:
		s.onWrote(in.ID, in.Err)
	case protocol.DidRead:
		s.onRead(in)
	case protocol.LeaseGranted, protocol.LeaseRefused, protocol.LeaseLost:
		s.onLeaseAnswer(in)
	case protocol.LeaseReleased:
		s.onLeaseReleased(in.Gen)
	}
	s.pump()
	s.flushStarts()
	s.forward()
	s.maybeDrainMailboxes()
	s.maybeStopped()
	return &s.fx
}

// Deadline is when the shard wants a Tick; the zero time means never.
func (s *Shard) Deadline() time.Time {
	var d time.Time
	for _, t := range [...]time.Time{s.passivating.next(), s.restartDue(), s.recoverAt, s.stopAt, s.store.retryAt, s.store.tidyAt,
		s.store.lateAt, s.forwardDue(), s.leaseState.Deadline()} {
		if !t.IsZero() && (d.IsZero() || t.Before(d)) {
			d = t
		}
	}
	return d
}

// restartDue: entities are restarted only while the shard is open.
func (s *Shard) restartDue() time.Time {
	if s.phase != shardOpen {
		return time.Time{}
	}
	return s.restarting.next()
}

// Stats are the named counters, in a fixed order.
func (s *Shard) Stats() []protocol.Counter { return s.counts.Stats() }

// Len is the number of entities that the shard knows, in whatever state.
func (s *Shard) Len() int { return len(s.entities) }

// State is the state of one entity; EntityAbsent when the shard does not know it.
func (s *Shard) State(id protocol.EntityID) EntityState { return s.entities[id].state }

func (s *Shard) do(a protocol.ShardAction)    { s.fx.Do = append(s.fx.Do, a) }
func (s *Shard) tell(in protocol.RegionInput) { s.fx.Region = append(s.fx.Region, in) }
func (s *Shard) notify(e protocol.Event) {
	e.Shard = s.id
	s.fx.Notify = append(s.fx.Notify, e)
}

func (s *Shard) onTick() {
	for id := range s.passivating.expired(s.now, s.entities) {
		s.do(protocol.ForceStop{ID: id})
		s.notify(protocol.Event{Kind: protocol.PassivationForced, Entity: id})
	}
	if s.phase == shardOpen {
		for id := range s.restarting.expired(s.now, s.entities) {
			s.restore(id)
		}
		s.recover()
	}
	if !s.stopAt.IsZero() && !s.now.Before(s.stopAt) {
		s.onStopTimeout()
	}
	if s.leaseState.Overdue(s.now) {
		s.onLeaseDue()
	}
	s.retryStore()
	s.maybeLate()
	if !s.now.Before(s.store.tidyAt) {
		s.store.tidyAt = time.Time{}
	}
}
