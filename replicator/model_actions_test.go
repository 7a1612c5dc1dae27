package replicator

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/wire"
)

// What the model does at random.

func (m *model) doWrite() {
	n := m.some("writer")
	w := &writeOf{
		by: n, key: rapid.SampledFrom(modelKeys).Draw(m.rt, "key"), elem: fmt.Sprintf("e%d", m.seq),
		level: rapid.SampledFrom([]quorum.Level{quorum.Local, quorum.Majority, quorum.Majority, quorum.All,
			quorum.To(2), quorum.MajorityPlus(1, 0)}).Draw(m.rt, "level"),
	}
	if rapid.IntRange(0, 9).Draw(m.rt, "big") == 0 {
		w.elem += string(make([]byte, 900))
	}
	if w.level == quorum.Majority && rapid.Bool().Draw(m.rt, "look") {
		w.must = append(m.acknowledged(w.key), w.elem)
		w.id = n.putThenGet(w.key, w.elem)
	} else {
		w.id = n.put(w.key, w.elem, w.level)
	}
	m.writes = append(m.writes, w)
}

// acknowledged returns what enough replicas have acknowledged of a key by now.
func (m *model) acknowledged(key string) (elems []string) {
	m.note()
	for _, w := range m.writes {
		if w.acked && w.key == key && w.kept() {
			elems = append(elems, w.elem)
		}
	}
	return elems
}

var aCount = crdt.GCounter{}

// doCount counts one.
func (m *model) doCount() {
	n := m.some("counter")
	w := &writeOf{by: n, key: rapid.SampledFrom([]string{"1/n", "2/n"}).Draw(m.rt, "key"), level: quorum.Majority}
	w.id = n.increment(w.key, w.level)
	m.counts = append(m.counts, w)
}

// doMove decides that more keys become durable.
func (m *model) doMove() {
	v := after(m.newest())
	if int(v.Moves) == len(modelMoves) || v.Move || !m.mayDecide() || !m.rarely() {
		return
	}
	v.Voters, v.Learners = m.newest().Voters, m.newest().Learners
	v.Moving, v.Moves, v.Move = []string{modelMoves[v.Moves]}, v.Moves+1, true
	m.decide(v)
}

// doChurn adds and removes the same few elements everywhere.
func (m *model) doChurn() {
	n := m.some("churner")
	key := rapid.SampledFrom([]string{"v/churn", "d/churn", "1/churn"}).Draw(m.rt, "key")
	elem := fmt.Sprint(rapid.IntRange(0, 3).Draw(m.rt, "elem"))
	if rapid.Bool().Draw(m.rt, "remove") {
		n.take(key, elem, quorum.Local)
	} else {
		n.put(key, elem, quorum.Majority)
	}
}

func (m *model) doRead() {
	n := m.some("reader")
	r := &readOf{
		by: n, key: rapid.SampledFrom(modelKeys).Draw(m.rt, "key"),
		level: rapid.SampledFrom([]quorum.Level{quorum.Majority, quorum.All, quorum.Linearizable,
			quorum.Linearizable}).Draw(m.rt, "level"),
	}
	r.must = m.acknowledged(r.key)
	if r.level == quorum.Linearizable {
		r.must = slices.Concat(append([][]string{r.must}, m.seen[r.key]...)...)
	}
	r.id = n.get(r.key, r.level)
	m.reads = append(m.reads, r)
}

// note looks at what has been answered since the last time.
func (m *model) note() {
	for _, w := range slices.Concat(m.writes, m.counts) {
		if r, ok := w.by.results[w.id]; ok && r.Err == nil && !w.acked {
			w.acked = true
			if r.Read {
				m.looks(w, w.by.saw[w.id])
			}
		}
	}
	m.reads = slices.DeleteFunc(m.reads, func(r *readOf) bool {
		res, ok := r.by.results[r.id]
		if !ok || res.Err != nil {
			return ok
		}
		got := elems(m.rt, res.Reader)
		for _, e := range r.must {
			if !slices.Contains(got, e) {
				m.rt.Fatalf("read #%d of %s at %v at %s does not see %.8q, which was acknowledged or read before\n%s",
					r.id, r.key, r.level,
					wire.Short(r.by.id), e, m.dump())
			}
		}
		if r.level == quorum.Linearizable {
			m.compare(r, got)
		}
		return true
	})
}

// looks holds what the acks of an update told against what was acknowledged before it began, and
// against the linearizable reads.
func (m *model) looks(w *writeOf, saw []string) {
	for _, e := range w.must {
		if !slices.Contains(saw, e) {
			m.rt.Fatalf("update #%d of %s at %s is not told of %.8q, which was acknowledged before\n%s",
				w.id, w.key, wire.Short(w.by.id), e, m.dump())
		}
	}
	x := look{w.elem, saw}
	m.looked[w.key] = append(m.looked[w.key], x)
	for _, read := range m.seen[w.key] {
		m.meet(w.key, x, read)
	}
}

// meet holds an update that looked back against a linearizable read.
func (m *model) meet(key string, x look, read []string) {
	if slices.Contains(read, x.elem) {
		return
	}
	for _, e := range read {
		if !slices.Contains(x.saw, e) {
			m.rt.Fatalf("the update %.8q of %s saw %.8q, a linearizable read %.8q\n%s",
				x.elem, key, x.saw, read, m.dump())
		}
	}
}

// compare holds what a linearizable read saw against those before: of two sets one is part of the
// other.
func (m *model) compare(r *readOf, got []string) {
	for _, was := range m.seen[r.key] {
		small, large := was, got
		if len(small) > len(large) {
			small, large = large, small
		}
		for _, e := range small {
			if !slices.Contains(large, e) {
				m.rt.Fatalf("linearizable read #%d of %s at %s saw %.8q, another %.8q\n%s",
					r.id, r.key, wire.Short(r.by.id), got, was, m.dump())
			}
		}
	}
	for _, x := range m.looked[r.key] {
		m.meet(r.key, x, got)
	}
	m.seen[r.key] = append(m.seen[r.key], got)
}

// doDeliver lets some packets arrive; how many are lost, doubled and late is the run's mood.
func (m *model) doDeliver() {
	for range rapid.IntRange(1, 60).Draw(m.rt, "packets") {
		if len(m.net) == 0 {
			break
		}
		i := 0
		switch m.rng.IntN(m.mood) {
		case 0: // lost
			m.net = m.net[1:]
			continue
		case 1: // twice
			m.net = append(m.net, m.net[0])
		case 2: // late
			m.net = append(m.net[1:], m.net[0])
			continue
		case 3: // early
			i = m.rng.IntN(len(m.net))
		}
		m.deliver(i)
	}
}

// doQuiet lets everything arrive and be written.
func (m *model) doQuiet() { m.quiet() }

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
	a, b := m.some("node"), m.some("peer")
	a.step(Reachable{b.id, rapid.Bool().Draw(m.rt, "reachable")})
}

func (m *model) doCrash() {
	if !m.rarely() {
		return
	}
	n := m.some("victim")
	v := m.newest().Normal()
	if !m.bears(func(id crdt.Origin) bool {
		return id != n.id && m.lives(id) && (hasMember(v.Voters, id) || hasMember(v.Learners, id))
	}) {
		return
	}
	m.note()
	n.crash()
	if rapid.Bool().Draw(m.rt, "restart") {
		m.join(n.disk, n.diskID)
	}
}

// doColdStart stops everything and founds the cluster anew on disks that meet every majority of
// each view that is not settled. What is volatile is lost then, and what was acknowledged and is
// durable is not.
func (m *model) doColdStart() {
	founders := m.alive()
	if !m.rarely() || !m.bears(m.lives) {
		return
	}
	m.note()
	old := m.newest()
	v := replica.View{
		Epoch: old.Epoch + 1, Founded: true, LastDisks: m.lastDisks(),
		Durable: slices.Concat(old.Durable, old.Moving), Moves: old.Moves,
	}
	for _, n := range founders {
		n.crash()
	}
	for len(founders) > 1 && rapid.Bool().Draw(m.rt, "one less") {
		i := m.rng.IntN(len(founders))
		var disks []uint64
		for _, n := range slices.Delete(slices.Clone(founders), i, i+1) {
			disks = append(disks, n.diskID)
		}
		if !witnessed(v.LastDisks, disks) {
			break
		}
		founders = slices.Delete(founders, i, i+1)
	}
	for _, w := range slices.Concat(m.writes, m.counts) {
		w.forget = w.forget || !durable(old, w.key)
	}
	for _, key := range modelKeys {
		if !durable(old, key) {
			delete(m.seen, key)
			delete(m.looked, key)
		}
	}
	for _, f := range founders {
		m.next++
		m.start(m.next, f.disk, f.diskID)
		v.Voters = append(v.Voters, replica.Member{ID: m.next, UpNumber: uint32(m.next), Disk: f.diskID})
	}
	m.net, m.views = nil, nil
	m.decide(v)
}

// lastDisks returns what the membership remembers: for each view that no node has found to be
// history, the disks of its voters.
func (m *model) lastDisks() (sets [][]uint64) {
	if m.settled(m.lives) == 0 {
		sets = slices.Clone(m.views[0].LastDisks)
	}
	for _, v := range m.unsettled(m.lives) {
		var set []uint64
		for _, p := range v.Voters {
			set = append(set, p.Disk)
		}
		sets = append(sets, set)
	}
	return sets
}

// join starts a process and makes it a learner.
func (m *model) join(disk *rows, diskID uint64) {
	if len(m.alive()) >= 6 || !m.mayDecide() || !m.rarely() {
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
	v.Learners = append(slices.Clone(v.Learners), replica.Member{ID: m.next, UpNumber: uint32(m.next), Disk: diskID})
	m.decide(v)
}

// mayDecide reports whether a majority of the newest view's voters has it and lives, as the next
// decision needs.
func (m *model) mayDecide() bool {
	v, n := m.newest(), 0
	for _, p := range v.Voters {
		if x := m.node(p.ID); x != nil && x.m.site.View.Epoch == v.Epoch {
			n++
		}
	}
	return n >= quorum.MajorityOf(len(v.Voters))
}

// doView decides a next view. A learner that has caught up becomes a voter, a dead node is dropped,
// and sometimes a live one.
func (m *model) doView() {
	if !m.mayDecide() || !m.rarely() {
		return
	}
	old := m.newest()
	v := after(old)
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
	in := func(id crdt.Origin) bool {
		return m.lives(id) && (hasMember(v.Voters, id) || hasMember(v.Learners, id))
	}
	v.Voters, v.Learners = byID(v.Voters), byID(v.Learners)
	if len(v.Voters) == 0 || !m.bears(in) {
		return
	}
	m.endMove(&v)
	m.decide(v)
}

// doInstall brings a node the next view, or the newest with a gap.
func (m *model) doInstall() {
	for _, n := range m.alive() {
		for _, v := range m.views {
			if v.Epoch <= n.m.site.View.Epoch || m.rng.IntN(3) == 0 ||
				!hasMember(v.Normal().Voters, n.id) && !hasMember(v.Normal().Learners, n.id) && !n.m.site.Member {
				continue
			}
			n.step(Install{v.Normal()})
		}
	}
}
