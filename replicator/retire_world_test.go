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
	ops    []*retireOp
	disks  uint64
	copies []diskCopy

	counts bool             // nodes come and go often, and count most of the time
	healed bool             // no live node is dropped any more
	trusts bool             // a planted fault: a disk that is outdated is used
	folds  map[*node]uint64 // that each has made
	doomed *node            // it has folded, and goes before another hears of it

	closed int // decisions by which origins were closed
	stale  int // disks that were refused
}

// retireOp is one operation on the set of a space, or on the counter of the durable one: it adds an element
// of its own, counts, or removes what it has found.
type retireOp struct {
	dot   crdt.Dot
	key   string
	elem  string      // that it adds
	total uint64      // the origin's own count with it
	over  []*retireOp // that it replaces or removes
	lost  bool        // no member had it when its origin retired
}

func (op *retireOp) puts() bool { return op.elem != "" || op.total > 0 }

// diskCopy is a disk as it was.
type diskCopy struct {
	rows *rows
	id   uint64
}

// countKey is a durable counter.
const countKey = "d/n"

var setKeys = [keyspace.Count]string{keyspace.Volatile: "v/s", keyspace.Durable: "d/s"}

func newRetireWorld(seed uint64, f defect.Set) *retireWorld {
	cfg := settings.Config{
		GossipInterval: 300 * time.Millisecond, RetryInterval: 50 * time.Millisecond, DurableKeys: []string{"d/*"},
	}
	cfg.Plant(f)
	w := &retireWorld{randomWorld: newRandomWorld(seed, 98, cfg)}
	w.folds = map[*node]uint64{}
	w.after = func(n *node) {
		w.compare(n)
		w.doom(n)
	}
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

// shown are the operations that a clock must show of a key: elements and counts.
func (w *retireWorld) shown(key string, c *crdt.Clock) []*retireOp {
	var live []*retireOp
	gone := map[*retireOp]bool{}
	for _, op := range w.ops {
		if op.key == key && !op.lost && c.Has(op.dot) {
			for _, o := range op.over {
				gone[o] = true
			}
		}
	}
	for _, op := range w.ops {
		if op.key == key && op.puts() && !op.lost && !gone[op] && c.Has(op.dot) {
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
		for _, op := range w.shown(key, st.Clock()) {
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
	st, want := n.m.spaces[keyspace.Durable].Store, uint64(0)
	for _, op := range w.shown(countKey, st.Clock()) {
		want += op.total
	}
	if got, err := crdt.ViewOf[crdt.GCounter](st.View(countKey)); err != nil || got.Value() != want {
		w.t.Fatalf("%s counts %d, must count %d: %v\n%s", wire.Short(n.id), got.Value(), want, err, w.dump())
	}
}

// do adds an element at a node, removes one that it shows, or counts.
func (w *retireWorld) do(n *node) {
	if !n.m.site.Member || !n.m.site.Serves || n.outdated {
		return
	}
	if w.chance(3) || w.counts {
		w.count(n)
		return
	}
	space := keyspace.Space(w.rng.IntN(int(keyspace.Count)))
	op := &retireOp{key: setKeys[space]}
	live := w.shown(op.key, n.m.spaces[space].Content())
	remove := len(live) > 0 && w.chance(3)
	if remove {
		op.over = []*retireOp{live[w.rng.IntN(len(live))]}
	} else {
		op.elem = fmt.Sprint(w.seq + 1)
	}
	w.update(n, space, op, func(tx *crdt.Tx) error {
		set := crdt.ORSet[string]{}.Mutator(tx)
		if remove {
			return set.Remove(op.over[0].elem)
		}
		return set.Add(op.elem)
	})
}

// count counts at a node, or, now and then, removes the counter.
func (w *retireWorld) count(n *node) {
	op := &retireOp{key: countKey}
	live := w.shown(countKey, n.m.spaces[keyspace.Durable].Content())
	if w.chance(40) {
		op.over = live
		w.update(n, keyspace.Durable, op, func(tx *crdt.Tx) error {
			_, err := tx.RemoveAll("")
			return err
		})
		return
	}
	by := 1 + w.rng.Uint64N(9)
	op.total = by
	for _, o := range live {
		if o.dot.Origin == n.id {
			op.over, op.total = append(op.over, o), op.total+o.total
		}
	}
	w.update(n, keyspace.Durable, op, func(tx *crdt.Tx) error { return crdt.GCounter{}.Mutator(tx).Increment(by) })
}

// update carries out an operation at a node.
func (w *retireWorld) update(n *node, space keyspace.Space, op *retireOp, mutate func(*crdt.Tx) error) {
	w.seq++
	s := n.m.spaces[space]
	before, after := s.Items.Seq(), w.after
	w.after = func(*node) {} // the operation is not known yet
	n.step(Update{ID: w.seq, Key: op.key, Mutate: mutate})
	w.after = after
	if s.Items.Seq() > before { // the machine may tidy up in the same step, after it
		op.dot = crdt.Dot{Origin: n.id, Seq: before + 1}
		w.ops = append(w.ops, op)
	}
	w.compare(n)
}

// act does one thing at random.
func (w *retireWorld) act() {
	if w.doomed != nil {
		w.replace()
		return
	}
	if w.counts && w.chance(12) {
		w.hurry()
		return
	}
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

// hurry lets a node go or come, or all that is due happen.
func (w *retireWorld) hurry() {
	switch w.rng.IntN(5) {
	case 0:
		w.crashSome()
	case 1:
		w.join()
	case 2:
		w.decide()
	default:
		w.mendAll()
		w.bringEvery()
		w.advance(time.Second)
		w.decide()
	}
}

// copied is a copy of a disk.
func (r *rows) copied() *rows {
	c := *r
	c.items, c.marks = maps.Clone(r.items), maps.Clone(r.marks)
	return &c
}

// doom cuts a node off that has just folded, now and then: only its disk has what it made.
func (w *retireWorld) doom(n *node) {
	if f := n.m.site.Counters.Folded; f > w.folds[n] {
		if w.folds[n] = f; w.counts && w.doomed == nil && !w.chance(3) && w.spares(n) {
			w.doomed = n
			w.net = slices.DeleteFunc(w.net, func(p packet) bool { return p.from == n.id })
			w.isolate(n.id)
		}
	}
}

// replace lets the doomed node go, and another one take its place before the disk comes back.
func (w *retireWorld) replace() {
	n := w.doomed
	w.doomed = nil
	for len(n.batches) > 0 {
		n.persist()
	}
	if !n.down {
		w.crash(n)
	}
	for range 1 + w.rng.IntN(4) {
		w.mendAll()
		w.decide()
		w.bringEvery()
		w.advance(time.Second)
	}
	if w.installed() && !slices.ContainsFunc(w.alive(), func(o *node) bool { return o.diskID == n.diskID }) {
		w.admit(w.begin(n.disk.copied(), n.diskID))
		w.bringEvery()
		w.advance(time.Second)
	}
}

// spares reports whether a majority lives without a node.
func (w *retireWorld) spares(n *node) bool { return w.bears(n.id) && len(w.alive()) > 3 }

// crashSome ends a node without which a majority lives.
func (w *retireWorld) crashSome() {
	if n := w.some(); w.spares(n) {
		w.crash(n)
	}
}

func (w *retireWorld) crash(n *node) {
	w.copies = append(w.copies, diskCopy{n.disk, n.diskID})
	n.crash()
}

// bringAll installs views that nodes have not got, or some of them. A node that says that its disk is
// outdated ends.
func (w *retireWorld) bringAll() {
	if w.chance(2) {
		w.bringEvery()
		return
	}
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
	w.admit(n)
}

// admit decides a view with a node as a learner.
func (w *retireWorld) admit(n *node) {
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
	if !w.healed && w.chance(8) && len(old.Voters) > 3 {
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
		if w.counts && !w.chance(3) {
			return
		}
		w.next++ // no two retirements have the same bound
		v.Ending.Below = w.next
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
			n := w.node(p.ID)
			if n != nil && n.m.spaces[n.m.SpaceOf(op.key)].Content().Has(op.dot) {
				op.lost = false
			}
		}
	}
}

// bringEvery installs all views that nodes have not got.
func (w *retireWorld) bringEvery() {
	for _, n := range w.alive() {
		for _, v := range w.views {
			if v = v.Normal(); v.Epoch > n.m.site.View.Epoch && !n.outdated &&
				(n.m.site.Member || hasMember(v.Voters, n.id) || hasMember(v.Learners, n.id)) {
				n.follow(v)
			}
		}
		w.refuse(n)
	}
}

// heal ends all trouble. After it, all members hold the same, their clocks have a row for each member and
// one for what is between two of them, and the counter has an item for each member and two.
func (w *retireWorld) heal() {
	w.counts, w.healed = false, true
	w.mendAll()
	for range 8 {
		w.bringEvery()
		w.advance(5 * time.Second)
		w.decide()
	}
	w.bringEvery()
	w.advance(5 * time.Second)
	w.same()
	for _, n := range w.alive() {
		w.compare(n)
		most := len(w.newest().Voters) + len(w.newest().Learners) + 2
		if items := n.m.Snapshot(keyspace.Durable).View(countKey).Len(); n.m.site.Member && items > most {
			w.t.Fatalf("%s has %d items of the counter, at most %d can be\n%s", wire.Short(n.id), items, most, w.dump())
		}
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
