package simtest

import (
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest"
	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/proptest/sim/trace"
	"github.com/coterie-go/coterie/proptest/sim/workload"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// dataKey is the key under test, in the durable space of the simulator.
const dataKey = "d/simtest"

// writers are the users of a world: clients that change the key.
type writers[V crdt.Value[V, T], T, O any] struct {
	told
	d     *Data[V, T, O]
	x     *trial[O]
	past  proptest.Past[O]
	tally tally
}

var _ workload.Workload = (*writers[crdt.GCounter, *crdt.GCounterTx, int])(nil)

func (c *writers[V, T, O]) begin(w workload.World, t *trace.Trace) {
	c.told = told{w: w, trace: t}
	for i, a := range c.x.acts {
		w.After(workload.Forms+a.at, nil, func() { c.act(i, a) })
	}
	c.tellFaults(c.x.faults)
}

// act has a client change the key on a node, if that can be used.
func (c *writers[V, T, O]) act(number int, a act[O]) {
	all := c.w.Processes()
	at := slices.IndexFunc(all, func(p workload.Process) bool { return p.Slot() == a.node && p.Usable() })
	if at < 0 {
		c.tell("n%d cannot be used: there is no %s", a.node, nameOf(a.op.msg))
		return
	}
	c.tally.operations++
	p, level := all[at], quorum.Local
	if number%2 == 1 {
		level = quorum.Majority
	}
	p.Enter(func() {
		data, err := p.Host().UserData(options.Backend)
		if err != nil {
			c.w.Violate("data", "%v: %v", p, err)
			return
		}
		data.Update(dataKey, level, 5*time.Second, func(tx *crdt.Tx) error { return c.change(p, tx, a.op.msg) },
			func(err error) {
				if c.look(p); err != nil {
					c.tally.unanswered(err)
					c.tell("%v: %s at %v: %v", p, nameOf(a.op.msg), level, err)
				}
			})
	})
}

// change carries an operation out, and notes what its replica had seen.
func (c *writers[V, T, O]) change(p workload.Process, tx *crdt.Tx, op O) error {
	_, clock := p.Replica(dataKey)
	had := clock.Clone()
	if err := crdt.Mutate[V](func(m T) error { return c.d.Laws.Do(m, op) })(tx); err != nil {
		c.w.Violate("operations are carried out", "%s on %v: %v", nameOf(op), p, err)
		return err
	}
	if dot := tx.Last(); dot != (crdt.Dot{}) {
		c.past.Add(op, dot, tx.Wall(), had.Has)
	}
	c.tell("%v: %s", p, nameOf(op))
	return nil
}

// look holds what a node reads to the model.
func (c *writers[V, T, O]) look(p workload.Process) {
	r, clock := p.Replica(dataKey)
	v, err := crdt.ViewOf[V](r)
	if err != nil {
		c.w.Violate("the model", "%v does not read: %v", p, err)
		return
	}
	got, want := c.d.Laws.Value(v), c.d.Laws.Model(c.past.Of(clock.Has))
	if !proptest.Alike(got, want) {
		c.w.Violate("the model", "%v reads %v, and must read %v of what it has", p, got, want)
	}
}

// Start implements workload.Workload, as do the other methods.
func (c *writers[V, T, O]) Start(p workload.Process) {
	c.tell("%v starts", p)
	c.look(p)
}

// Heal begins the end.
func (c *writers[V, T, O]) Heal() {
	c.tell("all is well from here on")
}

// Missing waits until all nodes read the same. That their replicas are equal is judged by the simulator.
func (c *writers[V, T, O]) Missing() string {
	var first any
	for i, p := range c.w.Processes() {
		r, _ := p.Replica(dataKey)
		v, err := crdt.ViewOf[V](r)
		if err != nil {
			return fmt.Sprintf("%v does not read: %v", p, err)
		}
		if value := c.d.Laws.Value(v); i == 0 {
			first = value
		} else if !proptest.Alike(first, value) {
			return fmt.Sprintf("%v reads %v, and the first node %v", p, value, first)
		}
	}
	return ""
}

// Finish looks at each node once more.
func (c *writers[V, T, O]) Finish() {
	for _, p := range c.w.Processes() {
		c.look(p)
	}
}
