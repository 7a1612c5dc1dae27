package simtest

import (
	"context"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/singletons"
	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/trace"
	"github.com/coterie-go/coterie/proptest/sim/workload"
)

// stage is where the runs of a singleton in a world are seen.
type stage struct {
	told
	s     *Singleton
	x     *trial[none]
	doors *doors
	runs  []*onStage              // that have not returned, in the order in which they began
	token singletons.FencingToken // of the last one
	home  int                     // the slot of the last one; none has begun while token is zero
	over  bool                    // the harm is, for a while
	again bool                    // a run has ended by itself since
}

// onStage is one run.
type onStage struct {
	n     *Node
	ctx   context.Context
	token singletons.FencingToken
}

// holds reports whether its node holds its lease at this instant.
func (r *onStage) holds() bool { return r.n.p.Alive() && r.n.p.Host().Lease.Holds() }

var _ workload.Workload = (*stage)(nil)

// lookEvery is how often runs are looked at, beside the instants at which one begins.
const lookEvery = 50 * time.Millisecond

func (c *stage) begin(w workload.World, rs random.Streams, t *trace.Trace) workload.Workload {
	c.told = told{w: w, trace: t}
	c.doors = newDoors(c.x.store, c.x.outages, &c.told, rs)
	c.tellFaults(c.x.faults)
	for _, h := range c.x.holds {
		w.After(workload.Forms+h.at, nil, func() {
			if len(c.runs) > 0 {
				c.doors.still(c.home, h.in)
			}
		})
	}
	c.look()
	return c
}

// look looks at the runs, again and again.
func (c *stage) look() {
	c.alone()
	c.w.After(lookEvery, nil, c.look)
}

// alone judges that at most one node runs it and holds its lease.
func (c *stage) alone() {
	var first *onStage
	for _, r := range c.runs {
		switch {
		case !r.holds():
		case first == nil:
			first = r
		default:
			c.w.Violate("one runs under its lease", "on %v with the token %v, and on %v with %v", first.n, first.token,
				r.n, r.token)
			return
		}
	}
}

// Start implements workload.Workload.
func (c *stage) Start(p workload.Process) {
	n := &Node{p: p, doors: c.doors, typ: "singleton", carried: c.sound}
	_, err := singletons.Of(p.Host()).Run(singletons.Config{
		Name: n.typ, Role: options.Backend,
		Run: func(ctx context.Context, token singletons.FencingToken) error { return c.run(ctx, n, token) },
	})
	if err != nil {
		c.w.Violate("the singleton starts", "%v: %v", n, err)
	}
}

// run is one run, as its node calls it.
func (c *stage) run(ctx context.Context, n *Node, token singletons.FencingToken) error {
	ctx = context.WithValue(ctx, runToken{}, token)
	r := &onStage{n, ctx, token}
	c.tell("it begins on %v, with the token %v", n, token)
	if !c.token.Less(token) {
		c.w.Violate("tokens rise", "%v begins with %v, the last run had %v", n, token, c.token)
	}
	c.token, c.home = token, n.p.Slot()
	c.runs = append(c.runs, r)
	defer c.ends(r)
	c.alone()
	err := c.s.Run(ctx, n, token)
	c.again = c.again || c.w.Healed() && ctx.Err() == nil
	c.tell("it ends on %v: %v", n, err)
	return err
}

// ends takes a run away that has returned, or was unwound with its process.
func (c *stage) ends(r *onStage) {
	c.runs = slices.DeleteFunc(c.runs, func(x *onStage) bool { return x == r })
}

// sound judges what the runs have left outside.
func (c *stage) sound() {
	if c.s.Invariant == nil {
		return
	}
	if err := c.s.Invariant(); err != nil {
		c.w.Violate("the invariant", "%v", err)
	}
}

// Heal implements workload.Workload.
func (c *stage) Heal() {
	c.tell("all is well from here on")
	c.doors.store.Heal()
	c.w.After(finalAfter, nil, func() { c.over = true })
}

// Missing implements workload.Workload.
func (c *stage) Missing() string {
	runs := slices.ContainsFunc(c.runs, func(r *onStage) bool { return r.holds() && r.ctx.Err() == nil })
	switch {
	case !c.over:
		return "runs go on for a while after all is well"
	case runs || c.again:
		return ""
	}
	return "the singleton runs on no node although all is well"
}

// Finish implements workload.Workload.
func (c *stage) Finish() { c.sound() }
