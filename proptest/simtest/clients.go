package simtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/trace"
	"github.com/coterie-go/coterie/proptest/sim/workload"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/shardingtest"
)

// clients are the users of a world: the entity type under test on each node, and clients that play a
// trial.
type clients[M, S any] struct {
	told
	e         *Entity[M, S]
	x         *trial[M]
	doors     *doors
	delivers  deliveries[M]
	regions   map[uint64]*sharding.Region[M] // by UID; only looked up
	known     []error                        // with which entities answer
	homes     map[int]int                    // slots of entities, when they started last; only looked up
	histories map[int]*history[M]
	heard     map[int]any   // of entities in the healed world, the last time
	pause     time.Duration // until they are asked again, if they have not answered
	asker     uint64        // the process whose client asks them; 0: none
	verdict   verdict       // of the entity that broke the model
	broke     bool
	tally     tally
}

var _ workload.Workload = (*clients[int, int])(nil)

// begin has clients play a trial in a world.
func (c *clients[M, S]) begin(w workload.World, rs random.Streams, t *trace.Trace) workload.Workload {
	c.told = told{w: w, trace: t}
	c.regions, c.histories, c.heard = map[uint64]*sharding.Region[M]{}, map[int]*history[M]{}, map[int]any{}
	c.homes = map[int]int{}
	c.doors = newDoors(c.x.store, c.x.outages, &c.told, rs)
	c.delivers = newDeliveries(c.x, w, rs)
	at := func(d time.Duration, run func()) { w.After(workload.Forms+d, nil, run) }
	for i, a := range c.x.acts {
		at(a.at, func() { c.act(i, a) })
	}
	c.tellFaults(c.x.faults)
	for _, h := range c.x.holds {
		at(h.at, func() { c.hold(h) })
	}
	return c
}

// Start implements workload.Workload.
func (c *clients[M, S]) Start(p workload.Process) {
	n := &Node{p: p, doors: c.doors}
	t, err := c.e.Start(n)
	if err == nil {
		n.typ, t.Role = t.Name, options.Backend
		c.known = t.Errors
		c.watch(n, &t)
		c.regions[p.UID()], err = sharding.StartAt(p.Host(), t, false)
	}
	if err == nil {
		err = c.delivers.start(p, c.regions[p.UID()], func(id, producer string, seq uint64, m M, again bool) {
			c.given(n, id, producer, seq, m, again)
		})
	}
	if err != nil {
		c.w.Violate("the type starts", "%v: %v", n, err)
	}
}

// watch tells the story of what a type hears and makes.
func (c *clients[M, S]) watch(n *Node, t *sharding.EntityType[M]) {
	makes, hears := t.New, t.OnEvent
	if makes != nil { // otherwise the type does not start
		t.New = func(x *sharding.Context[M]) sharding.Entity[M] {
			if entity, known := numberOf(x.ID()); known {
				c.homes[entity] = n.p.Slot()
			}
			c.tell("%s starts on %v", x.ID(), n)
			if c.e.Internal == nil {
				return makes(x)
			}
			return shardingtest.Watch(makes(x), func(x *sharding.Context[M], m M) { c.handles(n, x.ID(), m) }, nil)
		}
	}
	t.OnEvent = func(ev events.Event) {
		if !n.p.Alive() {
			return // its routines are unwound
		}
		line, _, _ := strings.Cut(fmt.Sprintf("%v: %+v", n, ev), "\n") // no stack of a slow handler
		c.tell("%s", line)
		if e, is := ev.(sharding.Event); is && e.What.Kind == protocol.StrategyFailed {
			c.w.Violate("the strategy answers", "on %v it panicked: %s", n, e.What.Text)
		}
		if hears != nil {
			hears(ev)
		}
	}
}

// handles notes a message that comes from others than clients: it stands in the history as an operation
// without an answer.
func (c *clients[M, S]) handles(n *Node, id string, m M) {
	if entity, known := numberOf(id); known && c.e.Internal(m) {
		c.tell("%s on %v handles %+v", id, n, m)
		c.history(entity).begin(c.w.Now(), len(c.x.acts)+1, m)
	}
}

// given notes a message that a handler is given. One that a handler had before may take effect again, if the
// user says so.
func (c *clients[M, S]) given(n *Node, id, producer string, seq uint64, m M, again bool) {
	c.tell("%s on %v is given message %d of producer %s: %s", id, n, seq, producer, nameOf(m))
	if entity, known := numberOf(id); known && again && c.e.Repeats {
		c.history(entity).begin(c.w.Now(), len(c.x.acts)+1, m)
	}
}

// hold has the node on which an entity has started last stand still.
func (c *clients[M, S]) hold(h hold) {
	if slot, is := c.homes[h.entity]; is { // it has started
		c.doors.still(slot, h.in)
	}
}

// askMost is how long a client waits for an answer.
const askMost = 20 * time.Second

// act has a client come through the node that it wants, or else the next one that can be used.
func (c *clients[M, S]) act(number int, a act[M]) {
	all := c.w.Processes()
	for i := range c.e.Nodes {
		at := slices.IndexFunc(all, func(p workload.Process) bool {
			return p.Slot() == (a.node+i)%c.e.Nodes && c.usable(p)
		})
		if at >= 0 {
			all[at].Enter(func() { c.operate(all[at], number, a.entity, a.op) })
			return
		}
	}
	c.tell("no node can be used, and no client comes: %v", a.op)
}

// usable reports whether clients come through a node.
func (c *clients[M, S]) usable(p workload.Process) bool {
	return p.Usable() && c.regions[p.UID()] != nil
}

// operate carries out an operation, and returns what the client has heard: nil if that was not to be.
func (c *clients[M, S]) operate(p workload.Process, client, entity int, op Op[M]) any {
	h := c.history(entity)
	c.tally.operations++
	at := h.begin(c.w.Now(), client, op.msg)
	c.tell("%s is %v, by a client of %v", idOf(entity), op, p)
	ctx, cancel := p.WithTimeout(context.Background(), askMost)
	defer cancel()
	region := c.regions[p.UID()]
	if !op.delivers && op.ask == nil {
		if err := region.Tell(ctx, idOf(entity), op.msg); err != nil {
			c.tell("%v does not tell %s: %v", p, idOf(entity), err)
		}
		return nil
	}
	var got any
	var err error
	if op.delivers {
		got, err = c.delivers.deliver(ctx, p, idOf(entity), op.msg)
	} else {
		got, err = op.ask(ctx, region.Ref(idOf(entity)))
	}
	answer := c.answerOf(got, err)
	h.end(at, c.w.Now(), answer)
	c.tell("%s: the client of %v, %v, has %v", idOf(entity), p, op, answer)
	return answer
}

// answerOf is what a client has heard. A failure with which entities do not answer says nothing of what
// was done.
func (c *clients[M, S]) answerOf(got any, err error) any {
	switch {
	case err == nil:
		return got
	case slices.ContainsFunc(c.known, func(known error) bool { return errors.Is(err, known) }):
		return err
	}
	c.tally.unanswered(err)
	return unknown{err.Error()}
}

func (c *clients[M, S]) history(entity int) *history[M] {
	h := c.histories[entity]
	if h == nil {
		h = &history[M]{}
		c.histories[entity] = h
	}
	return h
}

// Heal implements workload.Workload.
func (c *clients[M, S]) Heal() {
	c.tell("all is well from here on")
	c.doors.store.Heal()
	c.pause = time.Second
	c.w.After(finalAfter, nil, c.final)
}

// How long after the world has healed each entity is asked once more, and the longest pause until it is
// asked again.
const (
	finalAfter = 20 * time.Second
	pauseMost  = 16 * time.Second
)

// final asks each entity that was used once more, until it answers.
func (c *clients[M, S]) final() {
	c.w.After(c.pause, nil, c.final)
	c.pause = min(2*c.pause, pauseMost)
	all := c.w.Processes()
	for _, p := range all {
		if c.usable(p) {
			c.delivers.flush(p)
		}
	}
	if slices.ContainsFunc(all, func(p workload.Process) bool { return p.UID() == c.asker }) || c.Missing() == "" {
		return
	}
	for _, p := range all {
		if c.usable(p) {
			c.asker = p.UID()
			p.Enter(func() {
				for _, entity := range c.x.entities() {
					if !c.answered(entity) {
						c.heard[entity] = c.operate(p, len(c.x.acts), entity, c.x.last)
					}
				}
				c.asker = 0
			})
			return
		}
	}
}

// answered reports whether an entity has answered in the healed world.
func (c *clients[M, S]) answered(entity int) bool {
	answer, asked := c.heard[entity]
	_, open := answer.(unknown)
	return asked && !open
}

// Missing implements workload.Workload.
func (c *clients[M, S]) Missing() string {
	for _, entity := range c.x.entities() {
		if !c.answered(entity) {
			text := idOf(entity) + " has not answered since all is well"
			if answer, asked := c.heard[entity]; asked {
				text += fmt.Sprintf("; asked %s, a client had: %v", nameOf(c.x.last.msg), answer)
			}
			return text
		}
	}
	return c.delivers.missing(c.w.Processes())
}

// Finish implements workload.Workload: it holds what clients were told against the model.
func (c *clients[M, S]) Finish() {
	if lost := c.delivers.lost(c.w.Processes()); lost != "" {
		c.w.Violate("what a queue has is handled", "%s", lost)
		return
	}
	for _, entity := range c.x.entities() {
		v, err := judge(*c.history(entity), c.e.Model)
		switch {
		case err != nil:
			c.w.Violate("a sound model", "%v", err)
			return
		case v.result == porcupine.Unknown:
			c.tally.undecided++
		case v.result == porcupine.Illegal:
			c.verdict, c.broke = v, true
			c.w.Violate("the model", "no order of what was asked of %s explains all answers%s", idOf(entity), v.why())
			return
		}
	}
}
