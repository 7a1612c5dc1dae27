package shard

import (
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// entities are the states of the entities of a shard, with a timer for each that stops or comes
// back.
//
// Invariants: no entity is kept that is absent. changing and running count the entities that are so. An
// entity with a timer passivates or waits for its restart.
type entities struct {
	*env
	byID     roster
	starts   []protocol.EntityID          // to be started with this Step
	restored int                          // of these, those that are because they are remembered
	changing int                          // entities that remember their start, passivate or remember their stop
	running  int                          // entities with an incarnation in the runtime: an EntityStopped will come
	gen      uint32                       // names the transition that a timer belongs to
	armed    map[protocol.EntityID]uint32 // the gen of its timer

	passivating timers
	restarting  timers
}

// expect begins anew, for so many entities.
func (es *entities) expect(n int) {
	es.byID.clear()
	clear(es.armed)
	es.byID.expect(n)
}

// disarm ends all timers.
func (es *entities) disarm() {
	es.passivating, es.restarting = timers{}, timers{}
	clear(es.armed)
}

// forget is the end of everything that is known of the entities.
func (es *entities) forget() {
	es.changing, es.running = 0, 0
	es.byID.clear()
	es.disarm()
}

// leaving is how many entities remember their stop.
func (es *entities) leaving() (n int) {
	for _, e := range es.byID.all() {
		if e.state == rememberingStop {
			n++
		}
	}
	return n
}

// become is the only place where the state of an entity changes.
func (es *entities) become(id protocol.EntityID, to entityState) {
	at := es.byID.find(id)
	e := at.entity()
	if !slices.Contains(transitions[e.state], to) {
		panic(fmt.Sprintf("sharding/protocol: shard %v: entity %v from %v to %v", es.id, id, e.state, to))
	}
	es.tally(e, -1)
	e.state = to
	e.wanted = false
	delete(es.armed, id)
	es.tally(e, +1)
	es.byID.put(id, at, e)
}

// tally counts an entity in or out.
func (es *entities) tally(e entity, d int) {
	if e.changing() {
		es.changing += d
	}
	if e.running() {
		es.running += d
	}
}

// want notes that a message, or a StartEntity, waits for the next incarnation.
func (es *entities) want(id protocol.EntityID) {
	at := es.byID.find(id)
	e := at.entity()
	e.wanted = true
	es.byID.put(id, at, e)
}

// start makes the entity active; the runtime is told at the end of the Step.
func (es *entities) start(id protocol.EntityID) {
	es.become(id, entityActive)
	es.starts = append(es.starts, id)
}

// restore is start for an entity that is remembered, and that no message waits for.
func (es *entities) restore(id protocol.EntityID) {
	es.restored++
	es.start(id)
}

// arm has something be due for an entity, unless its state changes before.
func (es *entities) arm(t *timers, id protocol.EntityID, d time.Duration) {
	es.gen = max(1, es.gen+1)
	es.armed[id] = es.gen
	t.queue = append(t.queue, dueEntity{id: id, gen: es.gen, at: es.now.Add(d)})
}
