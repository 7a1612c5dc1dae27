package replicator

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"pgregory.net/rapid"
)

// model drives a world at random and knows what must hold: what was acknowledged by a majority is never lost while a majority of every unsettled
// view lives; a quorum read sees every write that was acknowledged before it began; equal clocks mean equal digests.
type model struct {
	*world
	rt     *rapid.T
	views  []View // all that were decided, newest last
	next   crdt.Origin
	writes []*write
	reads  []*read
	parted bool
}

// write is one addition of an element that is never removed.
type write struct {
	by     *node
	id     uint64
	key    string
	elem   string
	level  Level
	acked  bool
	forget bool // it was local and volatile: a crash may take it
}

// read is a quorum read, with what it has to see.
type read struct {
	by   *node
	id   uint64
	key  string
	must []string
}

var modelKeys = []string{"v/a", "v/b", "d/a", "d/b"}

func newModel(rt *rapid.T) *model {
	cfg := Config{
		DurableKeys:    []string{"d/*"},
		FrameMax:       rapid.SampledFrom([]int{512, 1 << 16}).Draw(rt, "frame"),
		PushWindow:     rapid.SampledFrom([]int{512, 1 << 20}).Draw(rt, "window"),
		PushFlight:     rapid.IntRange(1, 3).Draw(rt, "flight"),
		LogMax:         rapid.SampledFrom([]int{1, 8, 1 << 18}).Draw(rt, "log"),
		PieceWindow:    rapid.IntRange(1, 4).Draw(rt, "pieces"),
		DonorsMax:      rapid.IntRange(1, 3).Draw(rt, "donors"),
		GossipInterval: 500 * time.Millisecond, RetryInterval: 100 * time.Millisecond, DonorExpiry: 2 * time.Second,
	}
	m := &model{world: newWorld(rt, rapid.Uint64().Draw(rt, "seed"), cfg), rt: rt}
	n := rapid.IntRange(3, 5).Draw(rt, "nodes")
	var ids []crdt.Origin
	for range n {
		m.next++
		ids = append(ids, m.next)
		m.start(m.next, nil, uint64(m.next))
	}
	m.decide(founded(1, ids...))
	for _, x := range m.nodes {
		x.step(Install{m.views[0]})
	}
	return m
}

func (m *model) decide(v View) { m.views = append(m.views, v) }

func (m *model) newest() View { return m.views[len(m.views)-1] }

func (m *model) alive() []*node {
	return slices.DeleteFunc(slices.Clone(m.nodes), func(n *node) bool { return n.down })
}

func (m *model) some(label string) *node {
	all := m.alive()
	return all[rapid.IntRange(0, len(all)-1).Draw(m.rt, label)]
}

func (m *model) lives(id crdt.Origin) bool { return m.node(id) != nil }

// unsettled returns the views that nobody is known to have put behind him.
func (m *model) unsettled() []View {
	var settled uint64
	for _, n := range m.nodes {
		settled = max(settled, n.m.Settled())
	}
	var out []View
	for _, v := range m.views {
		if v.Epoch >= settled {
			out = append(out, v)
		}
	}
	return out
}

// bears says whether a majority of every unsettled view would still be there among these.
func (m *model) bears(there func(crdt.Origin) bool) bool {
	for _, v := range m.unsettled() {
		n := 0
		for _, p := range v.Voters {
			if there(p.ID) {
				n++
			}
		}
		if n < quorumOf(len(v.Voters)) {
			return false
		}
	}
	return true
}

func (m *model) doWrite() {
	n := m.some("writer")
	w := &write{
		by: n, key: rapid.SampledFrom(modelKeys).Draw(m.rt, "key"), elem: fmt.Sprintf("e%d", m.seq),
		level: rapid.SampledFrom([]Level{Local, Majority, Majority, All, To(2), MajorityPlus(1, 0)}).Draw(m.rt, "level"),
	}
	if rapid.IntRange(0, 9).Draw(m.rt, "big") == 0 {
		w.elem += string(make([]byte, 900))
	}
	w.id = n.put(w.key, w.elem, w.level)
	m.writes = append(m.writes, w)
}

// doChurn adds and removes the same few elements everywhere.
func (m *model) doChurn() {
	n := m.some("churner")
	key := rapid.SampledFrom([]string{"v/churn", "d/churn"}).Draw(m.rt, "key")
	elem := fmt.Sprint(rapid.IntRange(0, 3).Draw(m.rt, "elem"))
	if rapid.Bool().Draw(m.rt, "remove") {
		n.take(key, elem, Local)
	} else {
		n.put(key, elem, Majority)
	}
}

func (m *model) doRead() {
	n := m.some("reader")
	r := &read{by: n, key: rapid.SampledFrom(modelKeys).Draw(m.rt, "key")}
	m.note()
	for _, w := range m.writes {
		if w.acked && w.key == r.key && w.level != Local && w.level != To(2) {
			r.must = append(r.must, w.elem)
		}
	}
	r.id = n.get(r.key, rapid.SampledFrom([]Level{Majority, Majority, All}).Draw(m.rt, "level"))
	m.reads = append(m.reads, r)
}

// note looks at what has been answered since the last time.
func (m *model) note() {
	for _, w := range m.writes {
		if r, ok := w.by.results[w.id]; ok && r.Err == nil {
			w.acked = true
		}
	}
	m.reads = slices.DeleteFunc(m.reads, func(r *read) bool {
		res, ok := r.by.results[r.id]
		if !ok || res.Err != nil {
			return ok
		}
		got := elems(m.rt, res.Reader)
		for _, e := range r.must {
			if !slices.Contains(got, e) {
				m.rt.Fatalf("read #%d of %s at %s does not see %.8q, which was acknowledged before\n%s", r.id, r.key, short(r.by.id), e, m.dump())
			}
		}
		return true
	})
}

func (m *model) doDeliver() {
	for range rapid.IntRange(1, 8).Draw(m.rt, "packets") {
		if len(m.net) == 0 {
			return
		}
		i := 0
		switch rapid.IntRange(0, 9).Draw(m.rt, "fate") {
		case 0: // lost
			m.net = m.net[1:]
			continue
		case 1: // twice
			m.net = append(m.net, m.net[0])
		case 2: // late
			i = rapid.IntRange(0, min(len(m.net)-1, 20)).Draw(m.rt, "late")
		}
		m.deliver(i)
	}
}

func (m *model) doTime() {
	m.now = m.now.Add(time.Duration(rapid.SampledFrom([]int{1, 10, 120, 600}).Draw(m.rt, "ms")) * time.Millisecond)
	for _, n := range m.alive() {
		if at := n.m.Deadline(); !at.IsZero() && !at.After(m.now) {
			n.step(Tick{})
		}
	}
}

func (m *model) doDisk() {
	n := m.some("disk")
	n.disk.bad = rapid.IntRange(0, 9).Draw(m.rt, "bad") == 0
	n.persist()
	n.disk.bad = false
}

func (m *model) doCut() {
	if m.parted = !m.parted; !m.parted {
		m.mendAll()
		return
	}
	for _, a := range m.alive() {
		for _, b := range m.alive() {
			if a.id < b.id && rapid.Bool().Draw(m.rt, "cut") {
				m.sever(a.id, b.id)
			}
		}
	}
}

func (m *model) doReachable() {
	a, b := m.some("who"), m.some("whom")
	a.step(Reachable{b.id, rapid.Bool().Draw(m.rt, "reachable")})
}

func (m *model) doCrash() {
	n := m.some("victim")
	v := m.newest().normal()
	if !m.bears(func(id crdt.Origin) bool {
		return id != n.id && m.lives(id) && (hasPeer(v.Voters, id) || hasPeer(v.Learners, id))
	}) {
		return
	}
	m.note()
	n.crash()
	if rapid.Bool().Draw(m.rt, "restart") {
		m.join(n.disk, n.diskID)
	}
}

// join starts a process and makes it a learner.
func (m *model) join(disk *rows, diskID uint64) {
	if len(m.alive()) >= 6 || !m.mayDecide() {
		return
	}
	m.next++
	if disk == nil {
		diskID = uint64(m.next)
	}
	m.start(m.next, disk, diskID)
	v := m.newest()
	v.Epoch++
	v.Founded = false
	v.Learners = append(slices.Clone(v.Learners), Peer{ID: m.next, Disk: diskID})
	m.decide(v)
}

// mayDecide says whether a majority of the newest view's voters has it and lives, as the next decision needs.
func (m *model) mayDecide() bool {
	v, n := m.newest(), 0
	for _, p := range v.Voters {
		if x := m.node(p.ID); x != nil && x.m.view.Epoch == v.Epoch {
			n++
		}
	}
	return n >= quorumOf(len(v.Voters))
}

// doView decides a next view: who has caught up becomes a voter, who is dead is dropped, and sometimes who is not.
func (m *model) doView() {
	if !m.mayDecide() {
		return
	}
	old := m.newest()
	v := View{Epoch: old.Epoch + 1}
	drop := m.some("dropped").id
	if rapid.IntRange(0, 3).Draw(m.rt, "drop") > 0 || len(old.Voters) < 3 {
		drop = 0
	}
	for _, p := range old.Voters {
		if m.lives(p.ID) && p.ID != drop {
			v.Voters = append(v.Voters, p)
		}
	}
	for _, p := range old.Learners {
		switch x := m.node(p.ID); {
		case x == nil || p.ID == drop:
		case x.m.CaughtUp():
			v.Voters = append(v.Voters, p)
		default:
			v.Learners = append(v.Learners, p)
		}
	}
	in := func(id crdt.Origin) bool { return m.lives(id) && (hasPeer(v.Voters, id) || hasPeer(v.Learners, id)) }
	v.Voters, v.Learners = sortedPeers(v.Voters), sortedPeers(v.Learners)
	if len(v.Voters) == 0 || !m.bears(in) {
		return
	}
	m.decide(v)
}

// doInstall brings a node the next view, or the newest with a gap.
func (m *model) doInstall() {
	n := m.some("installer")
	for _, v := range m.views {
		if v.Epoch > n.m.view.Epoch && (hasPeer(v.Voters, n.id) || hasPeer(v.Learners, n.id) || n.m.member) {
			if rapid.IntRange(0, 4).Draw(m.rt, "skip") == 0 {
				v = m.newest()
			}
			n.step(Install{v.normal()})
			return
		}
	}
}

// check is called after every action.
func (m *model) check() {
	m.note()
	alive := m.alive()
	for s := range spaces {
		for i, a := range alive {
			for _, b := range alive[i+1:] {
				x, y := a.m.spaces[s].store, b.m.spaces[s].store
				if x.Clock().Equal(y.Clock()) && x.Digest() != y.Digest() {
					m.rt.Fatalf("%v of %s and %s: equal clocks %s, different digests", s, short(a.id), short(b.id), clockName(x.Clock()))
				}
			}
		}
	}
}

// heal ends all trouble: everybody gets the newest view, which has no dead in it.
func (m *model) heal() {
	m.mendAll()
	m.note()
	for i := range 4 {
		if i > 0 && m.mayDecide() {
			m.clean()
		}
		for _, n := range m.alive() {
			for _, o := range m.alive() {
				n.step(Reachable{o.id, true})
			}
			if n.m.view.Epoch < m.newest().Epoch {
				n.step(Install{m.newest().normal()})
			}
		}
		m.advance(20 * time.Second)
	}
}

// clean decides a view of all that live and have caught up.
func (m *model) clean() {
	old := m.newest()
	v := View{Epoch: old.Epoch + 1}
	for _, p := range append(slices.Clone(old.Voters), old.Learners...) {
		switch x := m.node(p.ID); {
		case x == nil:
		case x.m.CaughtUp():
			v.Voters = append(v.Voters, p)
		default:
			v.Learners = append(v.Learners, p)
		}
	}
	m.decide(v)
}

// judge looks at the end of the world: all hold the same, and nothing that was acknowledged is lost.
func (m *model) judge() {
	m.same()
	v := m.newest().normal()
	for _, p := range v.Voters {
		n := m.node(p.ID)
		if n.m.Settled() != v.Epoch || !n.m.CaughtUp() {
			m.rt.Fatalf("%s has settled %d of %d\n%s", short(n.id), n.m.Settled(), v.Epoch, m.dump())
		}
		for _, s := range n.settled {
			if s.Lost {
				m.rt.Fatalf("%s says %v, but a majority was always there", short(n.id), s)
			}
		}
		for _, w := range m.writes {
			if w.acked && w.level != Local && w.level != To(2) && !slices.Contains(n.set(w.key), w.elem) {
				m.rt.Fatalf("%.8q in %s, acknowledged to %s at %v, is lost at %s\n%s", w.elem, w.key, short(w.by.id), w.level, short(n.id), m.dump())
			}
		}
		if n.m.stats.DigestAlarms+n.m.stats.RepairAlarms+n.m.stats.Malformed > 0 {
			m.rt.Fatalf("%s: %+v", short(n.id), n.m.stats)
		}
	}
}

func TestNothingAcknowledgedIsLostWhateverTheNetworkDoes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newModel(rt)
		do := func(f func()) func(*rapid.T) { return func(*rapid.T) { f() } }
		rt.Repeat(map[string]func(*rapid.T){
			"write": do(m.doWrite), "write2": do(m.doWrite), "churn": do(m.doChurn), "read": do(m.doRead),
			"deliver": do(m.doDeliver), "deliver2": do(m.doDeliver), "deliver3": do(m.doDeliver), "deliver4": do(m.doDeliver),
			"time": do(m.doTime), "disk": do(m.doDisk), "disk2": do(m.doDisk),
			"cut": do(m.doCut), "reachable": do(m.doReachable), "crash": do(m.doCrash),
			"join": do(func() { m.join(nil, 0) }), "view": do(m.doView), "install": do(m.doInstall), "install2": do(m.doInstall),
			"": do(m.check),
		})
		m.heal()
		m.judge()
	})
}
