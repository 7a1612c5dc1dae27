package replicator

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/replicator/storage"
	"github.com/coterie-go/coterie/replicator/wire"
)

// world is a few machines, the network between them and their disks, in virtual time. Everything
// that happens is asked for by the test.
type world struct {
	t     tb
	now   time.Time
	rng   *rand.Rand
	cfg   settings.Config // of all nodes; Self and Disk are set per node
	nodes []*node
	net   []packet
	cut   map[[2]crdt.Origin]bool
	drop  func(packet) bool // what gets lost beside what is cut
	// loseWhole says which messages that have come in parts are lost before they are decoded
	loseWhole func(effect.Whole) bool
	log       func(format string, args ...any)
	after     func(*node) // of every step
	seq       uint64

	unchecked bool // invariants are not looked at after each step
}

// node is one process: a machine, what it has asked its disk for, and what it has answered.
type node struct {
	w       *world
	id      crdt.Origin
	m       *Machine
	disk    *rows
	diskID  uint64
	batches []storage.Batch // asked for and not yet answered
	results map[uint64]effect.Result
	looks   map[uint64]bool     // the updates that look back
	saw     map[uint64][]string // what they were answered with
	changes []effect.Change
	settled []effect.Settlement
	large   []effect.LargeKey
	parted  []effect.Divergence
	odd     []effect.Malformed
	fetched []effect.Repair
	holds   int // times that it told of updates that wait
	down    bool
	joined  bool                        // it has said that it caught up
	owed    map[crdt.Origin]*crdt.Clock // nil: nothing; what was on the disks of the voters when it became a learner
	moved   uint16                      // the last move of which it has said that its part is done

	retirable uint64 // the last epoch under which it has said that origins may retire
	outdated  bool   // it has said that its disk must not be used

	clean crdt.Origin // what its disk was good for when it was started
}

// rows is what survives a crash.
type rows struct {
	items  map[crdt.Dot]crdt.Item
	clock  *crdt.Clock
	digest crdt.Digest
	counts storage.Counts
	marks  map[int]*crdt.Clock
	bad    bool // the disk fails every commit

	// of the origins below it that are over, it holds nothing but what the members agreed on
	clean crdt.Origin
}

// counting reports whether an item's row counts, as the comments of Counts have it.
func (r *rows) counting(d crdt.Dot) bool {
	switch r.counts {
	case storage.Covered:
		return r.clock.Has(d)
	case storage.Unmarked:
		for _, m := range r.marks {
			if m.Has(d) {
				return false
			}
		}
	}
	return true
}

// torn is what a crash has left.
func (r *rows) torn() storage.PartialBatch {
	t := storage.PartialBatch{Counts: r.counts, Marks: len(r.marks)}
	for d := range r.items {
		if !r.counting(d) {
			t.Drop = append(t.Drop, d)
		}
	}
	slices.SortFunc(t.Drop, crdt.Dot.Compare)
	return t
}

// commit writes a batch.
func (r *rows) commit(b storage.Batch) {
	for _, d := range b.Drop {
		delete(r.items, d)
	}
	for _, it := range b.Put {
		r.items[it.Dot] = *it
	}
	if b.Mark != nil {
		r.marks[b.MarkNo] = b.Mark
	}
	for no := range b.Unmark {
		delete(r.marks, no+1)
	}
	r.clock, r.digest, r.counts = b.Clock, b.Digest, b.Counts
}

type packet struct {
	from, to crdt.Origin
	lane     effect.Lane
	msg      wire.Message
}

func newWorld(t tb, seed uint64, cfg settings.Config) *world {
	return &world{
		t: t, now: time.Unix(1_000_000, 0), rng: rand.New(rand.NewPCG(seed, 7)), cfg: cfg,
		cut: map[[2]crdt.Origin]bool{}, drop: func(packet) bool { return false },
		log: func(string, ...any) {}, after: func(*node) {}, loseWhole: func(effect.Whole) bool { return false },
	}
}

func newRows() *rows { return &rows{items: map[crdt.Dot]crdt.Item{}, marks: map[int]*crdt.Clock{}} }

// start begins a process with a disk, nil for a new one.
func (w *world) start(id crdt.Origin, disk *rows, diskID uint64) *node {
	w.t.Helper()
	if disk == nil {
		disk = newRows()
	}
	cfg := w.cfg
	cfg.Self, cfg.Disk = id, diskID
	loaded := Loaded{Clock: disk.clock, Digest: disk.digest, Partial: disk.torn(),
		Items: func(yield func(crdt.Item, error) bool) {
			for d, it := range disk.items {
				if disk.counting(d) && !yield(it, nil) {
					return
				}
			}
		}}
	m, err := New(cfg, rand.New(rand.NewPCG(uint64(id), w.rng.Uint64())), loaded)
	if err != nil {
		w.t.Fatalf("node %s does not start: %v", wire.Short(id), err)
	}
	n := &node{
		w: w, id: id, m: m, disk: disk, diskID: diskID,
		results: map[uint64]effect.Result{}, looks: map[uint64]bool{}, saw: map[uint64][]string{}, clean: disk.clean,
	}
	w.nodes = append(w.nodes, n)
	return n
}

func (w *world) node(id crdt.Origin) *node {
	for _, n := range w.nodes {
		if n.id == id && !n.down {
			return n
		}
	}
	return nil
}

// step lets a node take an input, carries out the effects, and checks the invariants.
func (n *node) step(in Input) {
	w := n.w
	w.t.Helper()
	w.log("%s <- %v", wire.Short(n.id), in)
	was := n.m.site.Member
	e := n.m.Step(w.now, in)
	if !was && n.m.site.Member {
		n.owe()
	}
	for _, b := range e.Persist {
		w.log("%s -> %v", wire.Short(n.id), b)
		n.batches = append(n.batches, b)
	}
	for _, env := range e.Send {
		w.log("%s -> %v", wire.Short(n.id), env)
		p := packet{n.id, env.To, env.Lane, w.carried(env.Msg)}
		if !w.cut[[2]crdt.Origin{n.id, env.To}] && !w.drop(p) {
			w.net = append(w.net, p)
		}
	}
	for _, x := range e.Whole {
		w.log("%s -> %v", wire.Short(n.id), x)
		if msg, _ := wire.DecodeWhole(x.Data); !w.loseWhole(x) { // nil: a hostile peer sent what is none
			defer n.step(Decoded{x.From, x.Flow, msg})
		}
	}
	for _, r := range e.Reply {
		w.log("%s -> %v", wire.Short(n.id), r)
		if _, twice := n.results[r.ID]; twice {
			w.t.Fatalf("operation #%d of %s is answered twice", r.ID, wire.Short(n.id))
		}
		n.results[r.ID] = r
		if n.looks[r.ID] && r.Read { // the state is valid until the next step
			n.saw[r.ID] = elems(w.t, r.Reader)
		}
	}
	for _, c := range e.Notify {
		w.log("%s -> %v", wire.Short(n.id), c)
		n.changes = append(n.changes, c)
	}
	for _, s := range e.Settled {
		w.log("%s -> %v", wire.Short(n.id), s)
		n.settled = append(n.settled, s)
	}
	n.large = append(n.large, e.Large...)
	n.parted = append(n.parted, e.Diverged...)
	n.odd = append(n.odd, e.Malformed...)
	n.fetched = append(n.fetched, e.Repairs...)
	for _, r := range e.Repairs {
		w.log("%s -> %v", wire.Short(n.id), r)
	}
	for _, h := range e.Holding {
		w.log("%s -> %v", wire.Short(n.id), h)
		n.holds++
	}
	if e.CaughtUp {
		w.log("%s -> caught up", wire.Short(n.id))
		n.joined = true
		n.settle()
	}
	if e.Moved != 0 {
		w.log("%s -> moved #%d", wire.Short(n.id), e.Moved)
		n.moved = e.Moved
	}
	if e.Retirable > 0 {
		n.disk.clean = max(n.disk.clean, n.m.site.View.Ending.Below)
	}
	if e.CaughtUp {
		n.disk.clean = max(n.disk.clean, n.m.site.View.Ended.Below)
	}
	n.retirable, n.outdated = max(n.retirable, e.Retirable), n.outdated || e.Outdated
	if !w.unchecked {
		n.check()
	}
	w.after(n)
}

// owe notes what a node has to have before it counts, if it has just become a learner.
func (n *node) owe() {
	v := n.m.site.View
	n.owed = nil
	if v.Founded && n.m.site.Voter {
		return
	}
	n.owed = map[crdt.Origin]*crdt.Clock{}
	for _, m := range v.Voters {
		if x := n.w.node(m.ID); x != nil && x != n && x.disk.clock != nil {
			n.owed[m.ID] = x.disk.clock.Clone()
		}
	}
}

// settle fails when a node counts whose disk lacks what was on the disks of a majority when it became a learner:
// the others may leave, and their disks with them.
func (n *node) settle() {
	n.w.t.Helper()
	v := n.m.site.View
	if n.owed == nil || v.Ended.Below > 0 {
		return
	}
	others, has := 0, 0
	for _, m := range v.Voters {
		if m.ID == n.id {
			continue
		}
		others++
		if c := n.owed[m.ID]; c == nil || c.Empty() || n.disk.clock != nil && n.disk.clock.Includes(c) {
			has++
		}
	}
	if has < min(len(v.Voters)/2+1, others) {
		n.w.t.Fatalf("%s counts, and its disk lacks what was on those of %d of %d others\n%v", wire.Short(n.id),
			others-has, others, n.m)
	}
}

// check fails when an invariant is broken.
func (n *node) check() {
	n.w.t.Helper()
	if err := n.m.Check(); err != nil {
		n.w.t.Fatalf("%v\n%v", err, n.m)
	}
}

// carried takes a message over the wire. The bytes are used again after that, as the transport
// does.
func (w *world) carried(m wire.Message) wire.Message {
	b := wire.Append(nil, m)
	if most := 2 * w.cfg.WithDefaults().FrameMax; len(b) > most {
		w.t.Fatalf("a message of %d bytes, a transport takes %d: %.200v", len(b), most, m)
	}
	out, err := wire.Decode(b)
	if err != nil {
		w.t.Fatalf("%v does not decode: %v", m, err)
	}
	scribble(b)
	return out
}

// persist answers the oldest batch of a node.
func (n *node) persist() {
	if len(n.batches) == 0 {
		return
	}
	b := n.batches[0]
	n.batches = n.batches[1:]
	if n.disk.bad {
		n.step(Persisted{ID: b.ID, Err: errDisk})
		return
	}
	n.disk.commit(b)
	n.step(Persisted{ID: b.ID})
}

var errDisk = errors.New("disk full")

// deliver hands over the i-th packet on its way.
func (w *world) deliver(i int) {
	p := w.net[i]
	w.net = slices.Delete(w.net, i, i+1)
	if n := w.node(p.to); n != nil && !w.cut[[2]crdt.Origin{p.from, p.to}] {
		n.step(&Receive{From: p.from, Msg: p.msg})
	}
}

// quiet delivers and commits, in order, until nothing is on its way.
func (w *world) quiet() {
	w.t.Helper()
	for i := 0; ; i++ {
		if i > 200_000 {
			w.t.Fatalf("the network does not become quiet; %v is next", w.net[0].msg)
		}
		busy := len(w.net) > 0
		if busy {
			w.deliver(0)
		}
		for _, n := range w.nodes {
			if !n.down && len(n.batches) > 0 {
				busy = true
				n.persist()
			}
		}
		if !busy {
			return
		}
	}
}

// advance lets time pass to the next deadlines up to d, delivering everything in between.
func (w *world) advance(d time.Duration) {
	w.t.Helper()
	end := w.now.Add(d)
	for {
		w.quiet()
		next := end
		for _, n := range w.nodes {
			if at := n.m.Deadline(); !n.down && !at.IsZero() && at.Before(next) {
				next = at
			}
		}
		if next.After(w.now) {
			w.now = next
		}
		due := false
		for _, n := range w.nodes {
			if at := n.m.Deadline(); !n.down && !at.IsZero() && !at.After(w.now) {
				due = true
				n.step(Tick{})
			}
		}
		if !due && !w.now.Before(end) {
			return
		}
	}
}

// install gives a view to all nodes that run.
func (w *world) install(v replica.View) {
	for _, n := range slices.Clone(w.nodes) {
		if !n.down {
			n.step(Install{v})
		}
	}
}

// viewOf makes a view of running and other nodes.
func viewOf(epoch uint64, voters ...crdt.Origin) replica.View {
	v := replica.View{Epoch: epoch}
	for i, id := range voters {
		v.Voters = append(v.Voters, replica.Member{ID: id, UpNumber: uint32(i + 1), Disk: uint64(id)})
	}
	return v
}

func founded(epoch uint64, voters ...crdt.Origin) replica.View {
	v := viewOf(epoch, voters...)
	v.Founded = true
	return v
}

func with(v replica.View, learners ...crdt.Origin) replica.View {
	for _, id := range learners {
		v.Learners = append(v.Learners, replica.Member{ID: id, Disk: uint64(id)})
	}
	return v
}

// cluster starts nodes 1 to n in a founding view.
func cluster(t tb, n int, cfg settings.Config) *world {
	w := newWorld(t, 1, cfg)
	var ids []crdt.Origin
	for i := range n {
		ids = append(ids, crdt.Origin(i+1))
		w.start(crdt.Origin(i+1), nil, uint64(i+1))
	}
	w.install(founded(1, ids...))
	w.quiet()
	return w
}

// sever cuts the link between two nodes, both ways; join mends it.
func (w *world) sever(a, b crdt.Origin) {
	w.cut[[2]crdt.Origin{a, b}], w.cut[[2]crdt.Origin{b, a}] = true, true
}

func (w *world) mend(a, b crdt.Origin) {
	delete(w.cut, [2]crdt.Origin{a, b})
	delete(w.cut, [2]crdt.Origin{b, a})
}

// isolate cuts a node off from all others.
func (w *world) isolate(id crdt.Origin) {
	for _, n := range w.nodes {
		if n.id != id {
			w.sever(id, n.id)
		}
	}
}

func (w *world) mendAll() { clear(w.cut) }

// crash ends a process; its disk keeps what was committed.
func (n *node) crash() {
	n.down, n.batches = true, nil
	n.w.net = slices.DeleteFunc(n.w.net, func(p packet) bool { return p.to == n.id })
}

// same fails unless the running nodes hold the same in both spaces.
func (w *world) same() {
	w.t.Helper()
	var first *node
	for _, n := range w.nodes {
		switch {
		case n.down || !n.m.site.Member:
		case first == nil:
			first = n
		default:
			for s := range keyspace.Count {
				a, b := first.m.Snapshot(s), n.m.Snapshot(s)
				if !a.Clock().Equal(b.Clock()) {
					w.t.Fatalf("%v clocks differ:\n%v%v", s, first.m, n.m)
				}
				if a.Digest() != b.Digest() {
					w.t.Fatalf("%v clocks are equal and digests differ:\n%v%v", s, first.m, n.m)
				}
			}
		}
	}
}

// dump prints all nodes.
func (w *world) dump() string {
	out := ""
	for _, n := range w.nodes {
		if !n.down {
			out += fmt.Sprintln(n.m)
		}
	}
	return out
}

// tb is what a world needs of a test; rapid's T is no testing.TB.
type tb interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func hasMember(ps []replica.Member, id crdt.Origin) bool {
	return slices.ContainsFunc(ps, func(p replica.Member) bool { return p.ID == id })
}

func byID(ps []replica.Member) []replica.Member {
	return slices.SortedFunc(slices.Values(ps), func(a, b replica.Member) int { return cmp.Compare(a.ID, b.ID) })
}

func scribble(b []byte) {
	for i := range b {
		b[i] = 0xa5
	}
}

// planting returns a configuration with defects.
func planting(c settings.Config, f defect.Set) settings.Config {
	c.Plant(f)
	return c
}
