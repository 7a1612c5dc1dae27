package proptest

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/crdt"
)

// world is one random history: replicas that update, a network that loses, repeats and reorders
// groups, gaps filled from logs, merges, trimming, restarts from rows. After every step the replica
// that moved is held against the model.
type world struct {
	*subject
	*story
	*lattice
	t      *rapid.T
	where  place
	nodes  []*node
	flying []flight
	past   past
	made   []crdt.Group       // all groups, those that got lost too
	ids    map[crdt.Dot][]int // the events of a group, by its first dot
	failed error              // the first law that did not hold
	wall   int64
}

// place says where the values live.
type place int

const (
	inStore place = iota
	alone
)

// standaloneKey is where a Standalone keeps its value.
const standaloneKey = "value"

// digestSeed is that of all stores of a world.
const digestSeed = 7

// node is one replica through all its incarnations.
type node struct {
	name  string
	lives int
	rep   *crdt.Replica
	one   standalone // set in a world of standalone values
	seen  bits
	disk  []commit // what was committed, in order; in a store only
	pins  []pin
}

// pin is a snapshot, the values that it read and what it held when it was taken.
type pin struct {
	snap  *crdt.Snapshot
	state state
	reads map[string]*reading
}

// flight is a group on its way.
type flight struct {
	to    *node
	group crdt.Group
}

func (s *subject) newWorld(t *rapid.T, where place) *world {
	keys := []string{"k", "l"}
	if where == alone {
		keys = []string{standaloneKey}
	}
	st := &story{names: map[crdt.Origin]string{}}
	w := &world{
		subject: s, story: st, lattice: &lattice{subject: s, story: st, keys: keys}, t: t, where: where,
		past: s.newPast(), ids: map[crdt.Dot][]int{}, wall: 1000,
	}
	for i := range 3 + w.pick("a fourth replica", 2) {
		n := &node{name: string(rune('a' + i))}
		w.begin(n)
		n.disk = []commit{{clock: &crdt.Clock{}}}
		w.nodes = append(w.nodes, n)
	}
	return w
}

// pick draws a number below n.
func (w *world) pick(what string, n int) int { return rapid.IntRange(0, n-1).Draw(w.t, what) }

func (w *world) someone() *node { return w.nodes[w.pick("replica", len(w.nodes))] }

// begin starts an empty incarnation.
func (w *world) begin(n *node) {
	n.lives++
	o := w.story.begin(fmt.Sprintf("%s%d", n.name, n.lives))
	if w.where == alone {
		n.one = w.newAlone(o)
		n.rep = n.one.replica()
		return
	}
	options := crdt.StoreOptions{
		DigestSeed: digestSeed, LogMax: 8 + w.pick("log", 40), SketchCells: 40, SketchFrom: 5,
	}
	options.Plant(w.plant.defects)
	n.rep = crdt.NewReplica(o, options)
}

// history runs one world, and holds what came of it to the laws of states.
func (s *subject) history(t *rapid.T, where place) error {
	w := s.newWorld(t, where)
	for range rapid.SampledFrom([]int{1, 1, 1, 1, 1, 1, 1, 1, 1, 5}).Draw(t, "length") {
		t.Repeat(w.actions())
	}
	for _, then := range []func() error{w.stateLaws, w.settle, func() error { return bounded(w) }} {
		if w.failed == nil {
			w.failed = then()
		}
	}
	return w.failed
}

// actions are what can happen. Those that stand here more than once happen more often.
func (w *world) actions() map[string]func(*rapid.T) {
	all := map[string]func(*rapid.T){}
	add := func(name string, often int, do func() error) {
		for i := range often {
			all[fmt.Sprint(name, " ", i)] = func(*rapid.T) {
				if w.failed == nil {
					w.failed = do()
				}
			}
		}
	}
	add("update", 8, w.update)
	add("deliver", 5, w.deliver)
	add("fill", 2, func() error { return w.fill(w.someone(), w.someone()) })
	add("merge", 2, func() error { return w.merge(w.someone(), w.someone()) })
	add("pin", 1, w.pin)
	add("restart", 1, w.restart)
	add("trim", 1, w.trim)
	return all
}

// settle lets everyone learn everything, first by logs and then by merges, and demands that all are
// equal.
func (w *world) settle() error {
	for range 2 {
		for _, to := range w.nodes {
			for _, from := range w.nodes {
				if err := w.fill(to, from); err != nil {
					return err
				}
				if err := w.merge(to, from); err != nil {
					return err
				}
			}
		}
	}
	first := w.nodes[0].state()
	for _, n := range w.nodes[1:] {
		if s := n.state(); !s.equal(first) || s.clock.Hash() != first.clock.Hash() {
			return w.broken(mergesAgree, "%s and %s have told each other everything and differ:\n%v\n%v",
				w.nameOf(w.nodes[0]), w.nameOf(n), first, s)
		}
	}
	return w.checkPins()
}

// pin keeps a snapshot of a replica and what it reads.
func (w *world) pin() error {
	n := w.someone()
	snap := n.rep.Store().Snapshot()
	p := pin{snap: snap, state: n.state(), reads: map[string]*reading{}}
	for _, key := range w.keys {
		r, err := w.read(n, key)
		if err != nil {
			return err
		}
		p.reads[key] = r
	}
	n.pins = append(n.pins, p)
	w.tell("%s keeps a snapshot", w.nameOf(n))
	return nil
}

// trim drops from a log what everyone has; now and then everything, as a replica does whose peers
// are gone.
func (w *world) trim() error {
	n := w.someone()
	stable := n.rep.Store().Clock().Clone()
	what := "everything"
	if w.pick("trim all", 4) > 0 {
		what = "what all have"
		for _, o := range w.nodes {
			stable = stable.Minus(stable.Minus(o.rep.Store().Clock()))
		}
	}
	w.plant.trim(n.rep, stable)
	w.tell("%s trims %s from its log", w.nameOf(n), what)
	return w.check(n)
}

// read takes a view of one key.
func (w *world) read(n *node, key string) (r *reading, err error) {
	err = guarded(func() error {
		if n.one != nil {
			r, err = n.one.read()
		} else {
			r, err = w.view(n.rep.Store().View(key))
		}
		return err
	})
	if err != nil {
		return nil, w.broken(valuesAreTheModels, "%s cannot read %s: %v", w.nameOf(n), key, err)
	}
	return r, nil
}

// check holds one replica against the model and against the others.
func (w *world) check(n *node) error {
	st := n.rep.Store()
	if err := st.Check(); err != nil {
		return w.broken(digestsAgree, "%s: %v", w.nameOf(n), err)
	}
	for _, key := range w.keys {
		r, err := w.read(n, key)
		if err != nil {
			return err
		}
		if want := w.past.reads(key, n.seen); !alike(r.value, want) {
			return w.broken(valuesAreTheModels, "%s reads %s as\n  %+v\nand the model says\n  %+v",
				w.nameOf(n), key, r.value, want)
		}
		if again := r.reread(); !alike(r.value, again) {
			return w.broken(valuesAreTheModels, "%s reads one view of %s as\n  %+v\nand then as\n  %+v",
				w.nameOf(n), key, r.value, again)
		}
	}
	if err := w.orderly(n); err != nil {
		return err
	}
	for _, o := range w.nodes {
		if so := o.rep.Store(); so.Clock().Equal(st.Clock()) && so.Digest() != st.Digest() {
			return w.broken(digestsAgree, "%s and %s:\n%v\n%v", w.nameOf(n), w.nameOf(o), n.state(), o.state())
		}
	}
	return nil
}

// checkPins demands that what was handed out has not changed.
func (w *world) checkPins() error {
	for _, n := range w.nodes {
		for _, p := range n.pins {
			if now := snapState(p.snap); !now.equal(p.state) || p.snap.Len() != len(now.items) {
				return w.broken(viewsNeverChange, "a snapshot of %s was\n%v\nand is\n%v", n.name, p.state, now)
			}
			for _, key := range w.keys {
				if now := p.reads[key].reread(); !alike(now, p.reads[key].value) {
					return w.broken(viewsNeverChange, "a view of %s at %s read\n  %+v\nand reads\n  %+v",
						key, n.name, p.reads[key].value, now)
				}
			}
			if i := slices.IndexFunc(p.state.items, func(it crdt.Item) bool { return !p.snap.Live(it.Dot) }); i >= 0 {
				return w.broken(viewsNeverChange, "a snapshot of %s forgot %v", n.name, &p.state.items[i])
			}
		}
	}
	return nil
}
