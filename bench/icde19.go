package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/crdt"
)

// The micro-benchmark of Enes et al., Efficient Synchronization of State-based CRDTs, ICDE 2019: 15
// nodes, each updates once and then synchronizes once with each of its neighbours, 100 times; what
// counts is how many elements are shipped. Published there for their best way, BP+RR, re-aggregated
// from the authors' raw data: 81,035 elements for a GSet in the mesh, 26,686 in the tree; 80,769
// and 26,694 for a GCounter; 494,572, 2,836,147 and 4,605,493 for a GMap of 10, 60 and 100 % in the
// mesh, 152,668 for 10 % in the tree. Ours:
//
// A neighbour tells its clock and is sent the groups that it lacks. "elements" is with exchanges
// one after another, as round trips are that take milliseconds in an interval of a second;
// "elements_at_once" is the worst case, where all clocks of a round are told before anything is
// answered, so that several neighbours send the same. "state_…" is our own state-based mode in the
// same run: every node sends all its items and its clock.
const (
	icdeNodes   = 15
	icdeUpdates = 100
	icdeKeys    = 1000 // of a map
)

// icdeTypes are the workloads: what node i does in a round.
var icdeTypes = []struct {
	name   string
	update func(node, round int, r *crdt.Replica) (crdt.Group, error)
}{
	{"gset", func(node, round int, r *crdt.Replica) (crdt.Group, error) {
		return r.Update("set", 0, crdt.Mutate[crdt.GSet[string]](func(s *crdt.GSetTx[string]) error {
			return s.Add("element-" + strconv.Itoa(node) + "-" + strconv.Itoa(round))
		}), nil)
	}},
	{"gcounter", func(_, _ int, r *crdt.Replica) (crdt.Group, error) {
		return r.Update("counter", 0, crdt.Mutate[crdt.GCounter](func(c *crdt.GCounterTx) error {
			return c.Increment(1)
		}), nil)
	}},
	{"gmap10", mapUpdate(10)}, {"gmap30", mapUpdate(30)}, {"gmap60", mapUpdate(60)}, {"gmap100", mapUpdate(100)},
}

// mapUpdate writes the node's share of the keys of which percent change in a round.
func mapUpdate(percent int) func(node, round int, r *crdt.Replica) (crdt.Group, error) {
	return func(node, round int, r *crdt.Replica) (crdt.Group, error) {
		changed := icdeKeys * percent / 100
		return r.Update("map", 0, crdt.Mutate[crdt.LWWMap[int, int]](func(m *crdt.LWWMapTx[int, int]) error {
			for k := node * changed / icdeNodes; k < (node+1)*changed/icdeNodes; k++ {
				if err := m.Put(k, round); err != nil {
					return err
				}
			}
			return nil
		}), nil)
	}
}

// neighbours of the two topologies: a mesh in which each node has four, and a binary tree.
var icdeNeighbours = map[string]func(i int) []int{
	"mesh": func(i int) []int {
		var out []int
		for _, d := range []int{-2, -1, 1, 2} {
			out = append(out, (i+d+icdeNodes)%icdeNodes)
		}
		return out
	},
	"tree": func(i int) []int {
		var out []int
		for _, j := range []int{(i+1)/2 - 1, 2*i + 1, 2*i + 2} {
			if j >= 0 && j < icdeNodes {
				out = append(out, j)
			}
		}
		return out
	},
}

// runICDE19 counts what is shipped until all nodes hold the same.
func runICDE19(ctx context.Context, o options) error {
	updates := o.size(icdeUpdates)
	for _, topology := range []string{"mesh", "tree"} {
		for _, t := range icdeTypes {
			worlds := map[string]*icdeWorld{}
			for name, sync := range map[string]func(*icdeWorld) error{
				"": (*icdeWorld).exchange, "at_once": (*icdeWorld).exchangeAtOnce, "state": (*icdeWorld).sendStates,
			} {
				w := newICDEWorld(icdeNeighbours[topology])
				if err := w.run(ctx, updates, t.update, sync); err != nil {
					return fmt.Errorf("%s %s %s: %w", t.name, topology, name, err)
				}
				worlds[name] = w
			}
			ours, atOnce, state := worlds[""], worlds["at_once"], worlds["state"]
			var f measure.Figures
			f.Add("elements", ours.elements)
			f.Add("elements_at_once", atOnce.elements)
			f.Add("state_elements", state.elements)
			f.Add("ratio_elements", float64(state.elements)/float64(ours.elements))
			f.Add("kb", float64(ours.bytes)/1e3)
			f.Add("kb_of_clocks", float64(ours.clockBytes)/1e3)
			f.Add("kb_at_once", float64(atOnce.bytes)/1e3)
			f.Add("state_kb", float64(state.bytes)/1e3)
			f.Add("ratio_bytes", float64(state.bytes)/float64(ours.bytes))
			f.Add("cpu_ms", float64(ours.cost.CPU.Microseconds())/1e3)
			f.Add("state_cpu_ms", float64(state.cost.CPU.Microseconds())/1e3)
			measure.Report("icde19", t.name+"-"+topology, f)
		}
	}
	return nil
}

type icdeWorld struct {
	nodes      []*crdt.Replica
	neighbours func(i int) []int
	rng        *rand.Rand

	elements, bytes, clockBytes int
	cost                        measure.Cost
	buf                         []byte
}

func newICDEWorld(neighbours func(i int) []int) *icdeWorld {
	w := &icdeWorld{neighbours: neighbours, rng: rand.New(rand.NewPCG(1, 2))}
	for range icdeNodes {
		w.nodes = append(w.nodes, crdt.NewReplica(crdt.Origin(w.rng.Uint64()),
			crdt.StoreOptions{LogMax: 1 << 22, LogBytesMax: 1 << 30}))
	}
	return w
}

func (w *icdeWorld) run(ctx context.Context, updates int, update func(int, int, *crdt.Replica) (crdt.Group, error),
	sync func(*icdeWorld) error) error {
	for round := 0; round < updates || !w.converged(); round++ {
		for i, r := range w.nodes {
			if round < updates {
				if _, err := update(i, round, r); err != nil {
					return err
				}
			}
		}
		err := w.cost.Measure(1, func() error { return sync(w) })
		if err = errors.Join(err, ctx.Err()); err != nil || round > 10*updates+100 {
			return errors.Join(err, fmt.Errorf("round %d", round))
		}
	}
	return w.check()
}

func (w *icdeWorld) converged() bool {
	first := w.nodes[0].Store().Clock()
	for _, r := range w.nodes[1:] {
		if !r.Store().Clock().Equal(first) {
			return false
		}
	}
	return true
}

func (w *icdeWorld) check() error {
	var digests strings.Builder
	for _, r := range w.nodes {
		if r.Store().Digest() != w.nodes[0].Store().Digest() {
			fmt.Fprintf(&digests, "%v ", r.Store().Digest())
		}
	}
	if digests.Len() > 0 {
		return fmt.Errorf("equal clocks, other digests: %s", digests.String())
	}
	return nil
}

// links yields each direction of each link, in random order.
func (w *icdeWorld) links() [][2]int {
	var links [][2]int
	for i := range w.nodes {
		for _, j := range w.neighbours(i) {
			links = append(links, [2]int{i, j})
		}
	}
	w.rng.Shuffle(len(links), func(i, j int) { links[i], links[j] = links[j], links[i] })
	return links
}

// exchange has each node ask each neighbour with its clock, one exchange after another.
func (w *icdeWorld) exchange() error {
	for _, l := range w.links() {
		if err := w.answer(l[0], l[1], w.nodes[l[1]].Store().Clock()); err != nil {
			return err
		}
	}
	return nil
}

// exchangeAtOnce has all clocks told before the first answer.
func (w *icdeWorld) exchangeAtOnce() error {
	clocks := make([]*crdt.Clock, len(w.nodes))
	for i, r := range w.nodes {
		clocks[i] = r.Store().Clock().Clone()
	}
	type parcel struct {
		to     int
		groups []crdt.Group
	}
	var parcels []parcel
	for _, l := range w.links() {
		gs, err := w.missing(l[0], clocks[l[1]])
		if err != nil {
			return err
		}
		parcels = append(parcels, parcel{l[1], gs})
	}
	for _, p := range parcels {
		if err := w.deliver(p.to, p.groups); err != nil {
			return err
		}
	}
	return nil
}

// answer sends to one node what its clock lacks.
func (w *icdeWorld) answer(from, to int, clock *crdt.Clock) error {
	gs, err := w.missing(from, clock)
	if err != nil {
		return err
	}
	return w.deliver(to, gs)
}

// missing returns what a node sends to one with the given clock, and counts it, the clock too.
func (w *icdeWorld) missing(from int, clock *crdt.Clock) ([]crdt.Group, error) {
	w.buf = clock.Append(w.buf[:0])
	w.clockBytes += len(w.buf)
	w.bytes += len(w.buf)
	gs, more, covered := w.nodes[from].Store().Missing(clock, 1<<30)
	if more || !covered {
		return nil, errors.New("the log does not reach back")
	}
	for _, g := range gs {
		w.buf = crdt.AppendGroup(w.buf[:0], g)
		w.bytes += len(w.buf)
		w.elements += len(g)
	}
	return gs, nil
}

func (w *icdeWorld) deliver(to int, gs []crdt.Group) error {
	for _, g := range gs {
		if out, err := w.nodes[to].Apply(g, nil); err != nil || out == crdt.Waiting {
			return fmt.Errorf("%v: %w", out, err)
		}
	}
	return nil
}

// sendStates has each node send all that it has to each neighbour.
func (w *icdeWorld) sendStates() error {
	snaps := make([]*crdt.Snapshot, len(w.nodes))
	states := make([][]crdt.Item, len(w.nodes))
	sizes := make([]int, len(w.nodes))
	for i, r := range w.nodes {
		snaps[i] = r.Store().Snapshot()
		var all []*crdt.Item
		for it := range snaps[i].Items() {
			all, states[i] = append(all, it), append(states[i], *it)
		}
		w.buf = snaps[i].Clock().Append(crdt.AppendItems(w.buf[:0], all))
		sizes[i] = len(w.buf)
	}
	for _, l := range w.links() {
		from, to := l[0], l[1]
		w.elements += len(states[from])
		w.bytes += sizes[from]
		if err := w.nodes[to].Merge(snaps[from].Clock(), snaps[from].Live, states[from], nil); err != nil {
			return err
		}
	}
	return nil
}
