package replicator

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/replicator/wire"
)

// retireWorld is a world in which incarnations come and go, and retire. It says what each replica
// must show, from the operations in its clock alone. Nodes come with empty disks, with those of
// nodes that have crashed, and with copies of old ones.
type retireWorld struct {
	*randomWorld
	ops    []*setOp
	disks  uint64
	copies []diskCopy

	trusts bool // a planted fault: a disk that is outdated is used
	closed int  // decisions by which origins were closed
	stale  int  // disks that were refused
}

// setOp is one operation on the set of a space: it adds an element of its own, or removes one.
type setOp struct {
	dot   crdt.Dot
	space keyspace.Space
	elem  string
	over  *setOp // that it removes; nil: it adds
	lost  bool   // no member had it when its origin retired
}

// diskCopy is a disk as it was.
type diskCopy struct {
	rows *rows
	id   uint64
}

var setKeys = [keyspace.Count]string{keyspace.Volatile: "v/s", keyspace.Durable: "d/s"}

func newRetireWorld(seed uint64, f defect.Set) *retireWorld {
	cfg := settings.Config{
		GossipInterval: 300 * time.Millisecond, RetryInterval: 50 * time.Millisecond, DurableKeys: []string{"d/*"},
	}
	cfg.Plant(f)
	w := &retireWorld{randomWorld: newRandomWorld(seed, 98, cfg)}
	w.after = w.compare
	if w.chance(2) {
		w.cfg.LogMax = 4
	}
	var ids []crdt.Origin
	for range 3 + w.rng.IntN(2) {
		ids = append(ids, w.begin(nil, 0).id)
	}
	v := founded(1, ids...)
	w.views = []replica.View{v}
	w.install(v)
	return w
}

// begin starts a process under a new id, with a disk or an empty one. Ids are some way apart.
func (w *retireWorld) begin(disk *rows, id uint64) *node {
	w.next += 10
	if disk == nil {
		w.disks++
		id = w.disks
	}
	return w.start(w.next, disk, id)
}

// shown are the elements that a clock must show.
func (w *retireWorld) shown(s keyspace.Space, c *crdt.Clock) []*setOp {
	var live []*setOp
	gone := map[*setOp]bool{}
	for _, op := range w.ops {
		if op.space == s && op.over != nil && !op.lost && c.Has(op.dot) {
			gone[op.over] = true
		}
	}
	for _, op := range w.ops {
		if op.space == s && op.over == nil && !op.lost && !gone[op] && c.Has(op.dot) {
			live = append(live, op)
		}
	}
	return live
}

// compare compares what a member shows with what it must.
func (w *retireWorld) compare(n *node) {
	v := w.newest().Normal()
	if n.down || n.outdated || !n.m.site.Member || !hasMember(v.Voters, n.id) && !hasMember(v.Learners, n.id) {
		return
	}
	for s, key := range setKeys {
		st := n.m.spaces[s].Store
		want := map[string]bool{}
		for _, op := range w.shown(keyspace.Space(s), st.Clock()) {
			want[op.elem] = true
		}
		got := map[string]bool{}
		set, err := crdt.ViewOf[crdt.ORSet[string]](st.View(key))
		for e := range set.All() {
			got[e] = true
		}
		if err != nil || !maps.Equal(got, want) {
			w.t.Fatalf("%s shows %v in %s, must show %v: %v\n%s", wire.Short(n.id), slices.Sorted(maps.Keys(got)),
				key, slices.Sorted(maps.Keys(want)), err, w.dump())
		}
	}
}

// do adds an element at a node, or removes one that it shows.
func (w *retireWorld) do(n *node) {
	if !n.m.site.Member || !n.m.site.Serves || n.outdated {
		return
	}
	op := &setOp{space: keyspace.Space(w.rng.IntN(int(keyspace.Count)))}
	s := n.m.spaces[op.space]
	if live := w.shown(op.space, s.Content()); len(live) > 0 && w.chance(3) {
		op.over = live[w.rng.IntN(len(live))]
	}
	w.seq++
	op.elem = fmt.Sprint(w.seq)
	before, after := s.Items.Seq(), w.after
	w.after = func(*node) {} // the operation is not known yet
	n.step(Update{ID: w.seq, Key: setKeys[op.space], Mutate: func(tx *crdt.Tx) error {
		set := crdt.ORSet[string]{}.Mutator(tx)
		if op.over != nil {
			return set.Remove(op.over.elem)
		}
		return set.Add(op.elem)
	}})
	w.after = after
	if s.Items.Seq() > before {
		op.dot = crdt.Dot{Origin: n.id, Seq: before + 1}
		w.ops = append(w.ops, op)
	}
	w.compare(n)
}

// act does one thing at random.
func (w *retireWorld) act() {
	switch k := w.rng.IntN(60); {
	case k < 9:
		w.do(w.some())
	case k == 9 && w.chance(2): // a quiet moment
		w.mendAll()
		w.advance(time.Second)
	case k < 28:
		w.someArrive()
	case k < 35:
		w.some().persist()
	case k < 43:
		w.pass()
	case k == 43:
		a, b := w.some(), w.some()
		w.sever(a.id, b.id)
	case k == 44:
		w.mendAll()
	case k == 45 && w.chance(2):
		w.crashSome()
	case k == 46:
		n := w.some()
		w.copies = append(w.copies, diskCopy{n.disk.copied(), n.diskID})
	case k < 49:
		w.join()
	case k < 53:
		w.decide()
	default:
		w.bringAll()
	}
}

// copied is a copy of a disk.
func (r *rows) copied() *rows {
	c := *r
	c.items, c.marks = maps.Clone(r.items), maps.Clone(r.marks)
	return &c
}

// crashSome ends a node without which a majority lives.
func (w *retireWorld) crashSome() {
	if n := w.some(); w.bears(n.id) && len(w.alive()) > 3 {
		w.copies = append(w.copies, diskCopy{n.disk, n.diskID})
		n.crash()
	}
}

// bringAll installs views that nodes have not got, or some of them. A node that says that its disk is
// outdated ends.
func (w *retireWorld) bringAll() {
	for _, n := range w.alive() {
		w.bring(n)
		w.refuse(n)
	}
}

// refuse ends a node whose disk is outdated.
func (w *retireWorld) refuse(n *node) {
	if n.outdated && w.trusts {
		n.outdated = false
	} else if n.outdated {
		w.stale++
		n.crash()
	}
}

// join starts a node: with an empty disk, or with one of before that no running node has.
func (w *retireWorld) join() {
	if len(w.alive()) >= 6 || !w.installed() {
		return
	}
	var n *node
	if len(w.copies) > 0 && !w.chance(3) {
		c := w.copies[w.rng.IntN(len(w.copies))]
		if !slices.ContainsFunc(w.alive(), func(o *node) bool { return o.diskID == c.id }) {
			n = w.begin(c.rows.copied(), c.id)
		}
	}
	if n == nil {
		n = w.begin(nil, 0)
	}
	v := w.newest()
	v.Epoch, v.Founded = v.Epoch+1, false
	v.Learners = append(slices.Clone(v.Learners), replica.Member{
		ID: n.id, UpNumber: uint32(n.id), Disk: n.diskID,
	})
	w.views = append(w.views, v)
}

// decide drops the dead nodes, and now and then a live one. It promotes the learners that have
// caught up, and lets origins end.
func (w *retireWorld) decide() {
	if !w.installed() {
		return
	}
	old := w.newest()
	v := replica.View{Epoch: old.Epoch + 1}
	drop := crdt.Origin(0)
	if w.chance(8) && len(old.Voters) > 3 {
		drop = w.some().id
	}
	for _, p := range slices.Concat(old.Voters, old.Learners) {
		x := w.node(p.ID)
		switch voter := hasMember(old.Normal().Voters, p.ID); {
		case x == nil || p.ID == drop:
		case voter || x.m.CaughtUp():
			v.Voters = append(v.Voters, p)
		default:
			v.Learners = append(v.Learners, p)
		}
	}
	if follows(old, v) {
		w.retire(old, &v)
		w.views = append(w.views, v)
	}
}

// retire lets the view say which origins end, or have ended.
func (w *retireWorld) retire(old replica.View, v *replica.View) {
	v.Ending, v.Ended, v.AgreedIn = old.Ending, old.Ended, old.AgreedIn
	if old.Ending.Empty() {
		v.Ending.Below = w.next + 1
		for _, p := range slices.Concat(v.Voters, v.Learners) {
			v.Ending.Spared = append(v.Ending.Spared, p.ID)
		}
		slices.Sort(v.Ending.Spared)
		return
	}
	for _, p := range slices.Concat(old.Voters, old.Learners) {
		i := slices.IndexFunc(w.nodes, func(n *node) bool { return n.id == p.ID })
		if w.nodes[i].retirable != old.Epoch {
			return
		}
	}
	v.Ended, v.AgreedIn, v.Ending = old.Ending, old.Epoch, replica.Retirement{}
	w.closed++
	for _, op := range w.ops {
		if !v.Ended.Names(op.dot.Origin) || op.lost {
			continue
		}
		op.lost = true
		for _, p := range slices.Concat(old.Voters, old.Learners) {
			if n := w.node(p.ID); n != nil && n.m.spaces[op.space].Content().Has(op.dot) {
				op.lost = false
			}
		}
	}
}

// heal ends all trouble. After it, all members hold the same, and their clocks have a row for each
// member and one for what is between two of them.
func (w *retireWorld) heal() {
	w.mendAll()
	for range 8 {
		w.bringAll()
		for _, n := range w.alive() { // those that were not brought all
			if v := w.newest().Normal(); n.m.site.View.Epoch < v.Epoch && !n.outdated {
				n.step(Install{v})
			}
			w.refuse(n)
		}
		w.advance(5 * time.Second)
		w.decide()
	}
	w.bringAll()
	w.advance(5 * time.Second)
	w.same()
	for _, n := range w.alive() {
		w.compare(n)
		for _, s := range n.m.spaces {
			rows := 0
			for range s.Content().Rows(0) {
				rows++
			}
			if most := 4 * (len(w.newest().Voters) + len(w.newest().Learners) + 2); n.m.site.Member && rows > most {
				w.t.Fatalf("%v clock of %s has %d rows, at most %d: %v",
					s.ID, wire.Short(n.id), rows, most, s.Content())
			}
		}
	}
}
