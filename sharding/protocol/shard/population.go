package shard

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// population is the life of the entities of one shard: it starts, passivates and stops them, and
// keeps what is remembered of them in line with what runs.
type population struct {
	*env
	entities  entities
	store     store
	roll      roll
	recovery  recovery
	strangers strangers
	requests  map[protocol.EntityID][]uint64 // StartEntity that wait
	early     []protocol.EntityID            // woken while nothing could start
}

// init makes the population of a shard of which nothing is known.
func (p *population) init(e *env, seed uint64) {
	p.env = e
	p.entities = entities{env: e, byID: newRoster(seed), armed: map[protocol.EntityID]uint32{}}
	p.store = newStore(e, &p.entities, 0)
	p.recovery = recovery{env: e, entities: &p.entities}
	p.strangers = strangers{env: e}
	p.requests = map[protocol.EntityID][]uint64{}
}

// forget is the end of everything that the shard knows of its entities.
func (p *population) forget() {
	p.roll = roll{}
	p.recovery.at, p.recovery.turns = time.Time{}, 0
	p.entities.forget()
	p.store = newStore(p.env, &p.entities, p.store.ids)
	p.strangers = strangers{env: p.env}
}

// begin starts an entity that is absent: at once, or with Remember once its id is written.
func (p *population) begin(id protocol.EntityID) {
	if !p.cfg.Remember.Entities {
		p.entities.start(id)
		return
	}
	p.entities.become(id, rememberingStart)
	p.store.adds = append(p.store.adds, id)
}

// flushStarts tells the runtime which entities start with this Step.
func (p *population) flushStarts() {
	if len(p.entities.starts) == 0 {
		return
	}
	p.do(protocol.StartEntities{
		IDs: p.entities.starts, Remembered: p.entities.restored, Follow: len(p.recovery.queue),
	})
	if len(p.requests) > 0 {
		for _, id := range p.entities.starts {
			p.fx.Reply = append(p.fx.Reply, p.requests[id]...)
			delete(p.requests, id)
		}
	}
	p.entities.starts, p.entities.restored = nil, 0
}

// onWake starts the entity, or remembers that its next incarnation is wanted.
func (p *population) onWake(id protocol.EntityID) {
	if p.phase != shardOpen && p.phase != shardDraining {
		p.early = append(p.early, id)
		return
	}
	switch p.entities.byID.of(id).state {
	case entityAbsent:
		p.begin(id)
	case entityRemembered, waitingForRestart:
		p.entities.start(id)
	case entityPassivating, rememberingStop, entityStopping:
		p.entities.want(id)
	}
}

func (p *population) onStartEntity(id protocol.EntityID, req uint64) {
	if req != 0 {
		if p.entities.byID.of(id).state == entityActive {
			p.fx.Reply = append(p.fx.Reply, req)
			return
		}
		p.requests[id] = append(p.requests[id], req)
	}
	p.onWake(id)
}

func (p *population) onEntityStopped(id protocol.EntityID) {
	e := p.entities.byID.of(id)
	switch e.state {
	case entityActive:
		p.onEnded(id)
	case entityPassivating:
		p.onPassivated(id, e.wanted)
	case entityStopping:
		p.onHandedOff(id, e.wanted)
	}
}

// onEnded: the entity ended by itself. A remembered one comes back.
func (p *population) onEnded(id protocol.EntityID) {
	if !p.cfg.Remember.Entities {
		p.entities.become(id, entityAbsent)
		return
	}
	p.entities.become(id, waitingForRestart)
	p.entities.arm(&p.entities.restarting, id, p.cfg.Remember.RestartBackoff)
}

// onHandedOff: the entity has stopped with its shard. When the hand-off was taken back meanwhile it
// lives on.
func (p *population) onHandedOff(id protocol.EntityID, wanted bool) {
	switch {
	case p.phase != shardStopping && (p.cfg.Remember.Entities || wanted):
		p.entities.start(id)
	case p.cfg.Remember.Entities:
		p.entities.become(id, entityRemembered)
	default:
		p.entities.become(id, entityAbsent)
	}
}

// restartDue: entities are restarted only while the shard is open.
func (p *population) restartDue() time.Time {
	if p.phase != shardOpen {
		return time.Time{}
	}
	return p.entities.restarting.next()
}

// recoverAll starts, in order, every entity that is remembered and does not run.
func (p *population) recoverAll() {
	var ids, strangers []protocol.EntityID
	for id, e := range p.entities.byID.all() {
		switch {
		case e.state != entityRemembered:
		case p.cfg.Shard(id) == p.id:
			ids = append(ids, id)
		default:
			strangers = append(strangers, id)
		}
	}
	slices.Sort(ids)
	slices.Sort(strangers)
	p.strangers.ids = strangers
	p.recovery.begin(ids)
}

// onStartedElsewhere forgets those that were started, and has the others tried again a little
// later.
func (p *population) onStartedElsewhere(ids []protocol.EntityID) {
	moved := make(map[protocol.EntityID]bool, len(ids))
	for _, id := range ids {
		moved[id] = true
		if p.entities.byID.of(id).state == entityRemembered && p.cfg.Shard(id) != p.id {
			p.entities.become(id, rememberingStop)
			p.store.removes = append(p.store.removes, id)
		}
	}
	p.strangers.answered(func(id protocol.EntityID) bool {
		return !moved[id] && p.entities.byID.of(id).state == entityRemembered
	})
}
