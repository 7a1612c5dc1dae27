package shard

import (
	"errors"

	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// onLoaded takes the ids of the set, to be entered.
func (p *population) onLoaded(ids []protocol.EntityID) {
	p.store.loaded(len(ids) > 0)
	p.entities.expect(len(ids))
	p.roll = roll{ids: ids, known: true}
}

// hearLate hears what has changed in the set while its ids were being entered.
func (p *population) hearLate() {
	later := p.roll.later
	p.roll.later = nil
	for _, in := range later {
		p.onIDsChanged(in)
	}
}

// wakeEarly wakes the entities that waited for the shard to open.
func (p *population) wakeEarly() {
	early := p.early
	p.early = nil
	for _, id := range early {
		p.onWake(id)
	}
}

// onIDsChanged keeps the set in line with what runs. An id of a living entity that vanished was
// removed by an earlier owner whose write came late: it is added again, also while the write that
// has put it is under way or to be repeated. An id that appeared (a disk that was away has
// returned) is started, once a read says that it is there.
func (p *population) onIDsChanged(in protocol.IDsChanged) {
	if p.roll.known {
		p.roll.later = append(p.roll.later, in)
		return
	}
	if !p.cfg.Remember.Entities || p.phase < shardOpen || p.phase >= shardStopping {
		return
	}
	for _, id := range in.Removed {
		delete(p.store.suspects, id)
		switch state := p.entities.byID.of(id).state; {
		case state == entityRemembered && p.cfg.Shard(id) != p.id:
			p.entities.become(id, entityAbsent) // it runs elsewhere
		case state == rememberingStart || state == entityActive || state == entityRemembered ||
			state == waitingForRestart:
			p.store.adds = append(p.store.adds, id)
		}
	}
	for _, id := range in.Added {
		if p.entities.byID.of(id).state == entityAbsent {
			p.store.suspects[id] = true
		}
	}
	if len(p.store.suspects) > 0 && p.store.read == 0 && !p.store.unread {
		p.store.load()
	}
}

// onVerified starts what has appeared in the set, once a read says that it is there.
func (p *population) onVerified(ids []protocol.EntityID) {
	if p.phase != shardOpen && p.phase != shardDraining {
		return
	}
	found := make(map[protocol.EntityID]bool, len(p.store.suspects))
	for _, id := range ids {
		if p.store.suspects[id] && p.entities.byID.of(id).state == entityAbsent {
			found[id] = true
		}
	}
	clear(p.store.suspects)
	for _, id := range sortedIDs(found) {
		if p.cfg.Shard(id) == p.id {
			p.onWake(id)
			continue
		}
		p.entities.become(id, entityRemembered)
		p.strangers.ids = append(p.strangers.ids, id)
	}
}

// onWrote goes on with what a majority knows.
func (p *population) onWrote(id uint64, err error) {
	if errors.Is(err, protocol.ErrFenced) && p.store.awaits(id) {
		p.onFenced(err)
		return
	}
	w, ok := p.store.wrote(id, err)
	if !ok {
		return
	}
	for _, id := range w.AddIDs {
		p.onAdded(id)
	}
	for _, id := range w.RemoveIDs {
		p.onRemoved(id)
	}
}

// onFenced: a later hosting has begun, of which this node has not heard yet. What waits to be written
// is its concern now. The entities that run go on until the shard is stopped: what they write is fenced
// where it is kept. So that the stop does not wait, no entity is left between two states for good.
func (p *population) onFenced(err error) {
	for _, id := range p.store.giveUp(err) {
		if p.entities.byID.of(id).state == rememberingStop {
			p.release(id)
		}
	}
}

// release ends an entity whose stop is not written any more. Its messages wait until the shard stops.
func (p *population) release(id protocol.EntityID) {
	wanted := p.entities.byID.of(id).wanted
	p.entities.become(id, entityAbsent)
	if wanted {
		p.early = append(p.early, id)
	}
}

func (p *population) onAdded(id protocol.EntityID) {
	switch {
	case p.entities.byID.of(id).state != rememberingStart: // added again, or given up
	case p.phase == shardOpen || p.phase == shardDraining:
		p.entities.start(id)
	default:
		p.entities.become(id, entityAbsent)
		p.early = append(p.early, id)
	}
}

func (p *population) onRemoved(id protocol.EntityID) {
	e := p.entities.byID.of(id)
	if e.state != rememberingStop {
		return
	}
	wakes := e.wanted || p.cfg.Planted(defect.WakesPassivated)
	if wakes && (p.phase == shardOpen || p.phase == shardDraining) {
		p.entities.become(id, rememberingStart)
		p.store.adds = append(p.store.adds, id)
		return
	}
	p.entities.become(id, entityAbsent)
	if e.wanted {
		p.early = append(p.early, id)
	}
}

// settled reports whether no entity is between two states and nothing is written.
func (p *population) settled() bool {
	if !p.cfg.Planted(defect.NoRememberWait) {
		return p.entities.changing == 0 && p.store.quiet()
	}
	return p.entities.changing == p.entities.leaving()
}

// stopAll takes every entity out of what it does. Those whose start is only queued to be written
// are as if never woken.
func (p *population) stopAll() {
	writing := map[protocol.EntityID]bool{}
	for _, id := range p.store.write.AddIDs {
		writing[id] = true
	}
	unborn := map[protocol.EntityID]bool{}
	for id, e := range p.entities.byID.all() {
		switch e.state {
		case entityActive, entityPassivating:
			p.entities.become(id, entityStopping)
		case waitingForRestart:
			p.entities.become(id, entityRemembered)
		case rememberingStart:
			unborn[id] = !writing[id]
		}
	}
	for _, id := range sortedIDs(unborn) {
		if unborn[id] {
			p.entities.become(id, entityAbsent)
			p.early = append(p.early, id)
		}
	}
}
