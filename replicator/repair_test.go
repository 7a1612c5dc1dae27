package replicator

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/crdt/iblt"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/push"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/repair"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/replicator/wire"
)

// apart is two nodes that share many elements, have no log that would help, and differ: each has
// added and removed some that the other has not. The sketches are of the given options; the link is
// still cut.
func apart(t *testing.T, cfg settings.Config, same, differ int) *world {
	t.Helper()
	cfg.LogMax, cfg.PushWindow, cfg.PushFlight = 1, 512, 1
	w := cluster(t, 2, cfg)
	a := w.nodes[0]
	a.write("s", func(s *crdt.ORSetTx[string]) error {
		return each(same, func(i int) error { return s.Add(fmt.Sprintf("shared-%06d", i)) })
	})
	w.advance(20 * time.Second)
	w.same()
	w.sever(1, 2)
	for k, n := range w.nodes {
		n.write("s", func(s *crdt.ORSetTx[string]) error {
			return each(differ, func(i int) error {
				if i%2 == 0 {
					return s.Add(fmt.Sprintf("new-%d-%06d", k, i))
				}
				return s.Remove(fmt.Sprintf("shared-%06d", (2*i+k)%same))
			})
		})
		n.put("s", fmt.Sprint("last of ", k), quorum.Local) // the log holds one event
	}
	w.net = nil
	for _, n := range w.nodes {
		n.m.site.Counters = effect.Stats{}
		// what was to be pushed would come after all
		n.m.site.Peers[0].Flows, *n.m.spaces[keyspace.Volatile].pusher.Outbox() = push.Flows{}, push.Outbox{}
	}
	return w
}

// write makes one group of many mutations of a set.
func (n *node) write(key string, fn func(*crdt.ORSetTx[string]) error) {
	n.w.seq++
	n.step(Update{
		ID: n.w.seq, Key: key, Write: quorum.Local, Mutate: func(t *crdt.Tx) error { return fn(addOne.Mutator(t)) },
	})
}

func each(n int, fn func(int) error) error {
	for i := range n {
		if err := fn(i); err != nil {
			return err
		}
	}
	return nil
}

// meet mends the link and lets them repair each other.
func (w *world) meet() {
	w.t.Helper()
	w.mendAll()
	w.advance(20 * time.Second)
	w.same()
}

func (w *world) repairs() (st effect.Stats) {
	for _, n := range w.nodes {
		s := n.m.Stats()
		st.Repairs += s.Repairs
		st.RepairAlarms += s.RepairAlarms
		st.RepairsBroken += s.RepairsBroken
		st.SketchesFailed += s.SketchesFailed
		st.SketchCells += s.SketchCells
		st.RangeRepairs += s.RangeRepairs
		st.Malformed += s.Malformed
		st.DonorsReplaced += s.DonorsReplaced
		st.Helped += s.Helped
		st.DigestAlarms += s.DigestAlarms
	}
	return st
}

// reconciliation is what a repair costs beside the items themselves.
func reconciliation(m wire.Message) int {
	switch m := m.(type) {
	case *wire.Pull, *wire.Head, *wire.MoreCells, *wire.Cells, *wire.FetchItems, *wire.Done, *wire.Refuse:
		return len(wire.Append(nil, m))
	case *wire.Items:
		n := len(wire.Append(nil, m))
		for _, it := range m.Items {
			n -= len(it.Path) + len(it.Payload)
		}
		return n
	}
	return 0
}

// Repair costs bytes in proportion to the difference, whether the sketch was kept or has to be
// made.
func TestRepairCostsWhatDiffers(t *testing.T) {
	for _, from := range []int{100, 1 << 20} {
		w := apart(t, settings.Config{SketchFrom: from}, 3000, 50)
		bytes := 0
		w.drop = func(p packet) bool {
			bytes += reconciliation(p.msg)
			return false
		}
		w.meet()
		st := w.repairs()
		if st.Repairs != 2 || st.RangeRepairs+st.SketchesFailed+st.RepairAlarms+st.Malformed > 0 {
			t.Fatalf("%+v", st)
		}
		if bytes > 5000 {
			t.Errorf("sketch from %d items: %d bytes for 100 differences", from, bytes)
		}
	}
}

// A sketch that is short for the difference grows by questions.
func TestSketchGrowsUntilItDecodes(t *testing.T) {
	for _, cells := range []int{64, 1 << 14} {
		w := apart(t, settings.Config{SketchCells: cells, SketchFrom: 100}, 4000, 600)
		w.meet()
		st := w.repairs()
		if st.Repairs != 2 || st.RangeRepairs+st.SketchesFailed+st.RepairAlarms+st.Malformed > 0 ||
			st.SketchCells < 600 || st.SketchCells > 3000 {
			t.Fatalf("%d cells kept: %+v", cells, st)
		}
	}
}

// Stores that differ in most compare runs of dots at once; so do those whose sketch would be longer
// than SketchMax.
func TestStoresThatDifferMuchGoByRanges(t *testing.T) {
	for _, cfg := range []settings.Config{{SketchMax: 64, FrameMax: 512, PieceWindow: 2}, {SketchMax: 200}} {
		w := apart(t, cfg, 1500, 1400)
		w.meet()
		st := w.repairs()
		if st.Repairs != 2 || st.RangeRepairs == 0 || st.RepairAlarms+st.Malformed > 0 {
			t.Fatalf("%+v", st)
		}
	}
	w := apart(t, settings.Config{}, 8000, 7900)
	w.meet()
	if st := w.repairs(); st.RangeRepairs == 0 || st.SketchesFailed+st.RepairAlarms > 0 {
		t.Fatalf("%+v", st)
	}
}

// lie puts a number of a dot into the cells of a peer's sketch, as if it were alive or dead there
// against the truth.
func lie(t *testing.T, w *world, to *node, d crdt.Dot) func(packet) bool {
	t.Helper()
	return func(p packet) bool {
		cells, ok := p.msg.(*wire.Cells)
		pull := to.m.spaces[keyspace.Volatile].repairs.puller
		if !ok || p.to != to.id || !pull.Running() || cells.From != 0 || cells.Key != 0 {
			return false
		}
		f := pull.Finder(cells.Key)
		for id := range numbers(f, d) {
			k := iblt.New(f.Key(), len(cells.Cells))
			k.Toggle(id)
			for i := range cells.Cells {
				cells.Cells[i].ID ^= k.Cells()[i].ID
				cells.Cells[i].Check ^= k.Cells()[i].Check
			}
		}
		return false
	}
}

// numbers yields the number by which sketches know a dot.
func numbers(f *crdt.DotFinder, d crdt.Dot) func(func(uint64) bool) {
	return func(yield func(uint64) bool) {
		key := f.Key()
		yield(key.Mix(uint64(d.Origin)) ^ d.Seq)
	}
}

// R5: a sketch that decodes to something else than the truth is found out by the digest, and
// nothing is lost. Trusting it loses an item.
func TestSketchThatLiesIsFoundOut(t *testing.T) {
	for _, f := range []defect.Set{{}, defect.Of(defect.TrustSketch)} {
		trust := f.Planted(defect.TrustSketch)
		w := apart(t, planting(settings.Config{}, f), 300, 6)
		b := w.nodes[1]
		victim := crdt.Dot{Origin: 1, Seq: 250} // alive on both sides
		if !b.m.Snapshot(keyspace.Volatile).Live(victim) {
			t.Fatal("it is not alive")
		}
		w.drop = lie(t, w, b, victim)
		w.mendAll()
		w.advance(20 * time.Second)
		lost := !b.m.Snapshot(keyspace.Volatile).Live(victim)
		if lost != trust || (w.repairs().RepairAlarms == 0) != trust {
			t.Fatalf("trust %v: lost %v, %+v", trust, lost, w.repairs())
		}
		if !trust {
			w.same()
		}
	}
}

// Cells that are no sketch cost another way, whichever key they claim.
func TestCellsThatAreGarbageCostAnotherWay(t *testing.T) {
	w := apart(t, settings.Config{SketchMax: 256}, 400, 20)
	w.drop = func(p packet) bool {
		if cells, ok := p.msg.(*wire.Cells); ok {
			for i := range cells.Cells {
				cells.Cells[i].ID ^= w.rng.Uint64()
			}
		}
		return false
	}
	w.meet()
	if st := w.repairs(); st.Repairs != 2 || st.SketchesFailed != 4 || st.RangeRepairs != 2 {
		t.Fatalf("%+v", st)
	}
}

// Sketches that mix up dots are survived too.
func TestWeakSketchesAreSurvived(t *testing.T) {
	w := apart(t, planting(settings.Config{}, defect.Of(defect.WeakSketch)), 400, 60)
	w.meet()
	if st := w.repairs(); st.Repairs != 2 || st.RepairAlarms+st.SketchesFailed == 0 {
		t.Fatalf("%+v", st)
	}
}

// joiner adds a node without anything to a cluster of n that has many items and no log of them.
func joiner(t *testing.T, n, items int, cfg settings.Config) (*world, *node) {
	t.Helper()
	cfg.LogMax = 1
	w := cluster(t, n, cfg)
	for k, x := range w.nodes {
		x.write("s", func(s *crdt.ORSetTx[string]) error {
			return each(items/n, func(i int) error { return s.Add(fmt.Sprintf("element-%d-%06d", k, i)) })
		})
	}
	w.advance(20 * time.Second)
	w.same()
	for _, x := range w.nodes {
		x.m.site.Counters = effect.Stats{}
	}
	return w, w.start(crdt.Origin(n+1), nil, uint64(n+1))
}

func (w *world) let(j *node, n int) {
	var ids []crdt.Origin
	for i := range n {
		if w.node(crdt.Origin(i+1)) != nil {
			ids = append(ids, crdt.Origin(i+1))
		}
	}
	w.install(with(viewOf(j.m.site.View.Epoch+2, ids...), j.id))
}

// R4: one donor names the dots, others supply payloads too.
func TestJoinerIsServedBySeveral(t *testing.T) {
	w, j := joiner(t, 3, 9000, settings.Config{FrameMax: 4096, SuppliersMax: 3, PieceWindow: 2})
	gave := map[crdt.Origin]int{}
	named := map[crdt.Origin]bool{}
	w.drop = func(p packet) bool {
		if g, ok := p.msg.(*wire.Items); ok {
			gave[p.from] += len(g.Items)
			named[p.from] = named[p.from] || g.Names != nil
		}
		return false
	}
	w.let(j, 3)
	w.advance(20 * time.Second)
	w.same()
	if !j.joined || len(gave) != 3 || len(named) != 3 {
		t.Fatalf("joined %v, given by %v", j.joined, gave)
	}
	sum, names := 0, 0
	for id := range crdt.Origin(4) {
		sum += gave[id]
		if named[id] {
			names++
		}
		if id > 0 && gave[id] < 1000 {
			t.Errorf("%d gave only %d of 9000", id, gave[id])
		}
	}
	if names != 1 || sum > 9100 {
		t.Errorf("%d named dots; %d items were sent", names, sum)
	}
}

// A helper that dies costs what it was asked for, asked again; a donor that dies costs the names,
// not the items.
func TestDonorsAndHelpersThatDieAreReplaced(t *testing.T) {
	for _, donor := range []bool{false, true} {
		w, j := joiner(t, 3, 6000, settings.Config{
			FrameMax: 4096, PieceWindow: 2, RetryInterval: 50 * time.Millisecond,
		})
		sent, killed := 0, crdt.Origin(0)
		w.drop = func(p packet) bool {
			g, ok := p.msg.(*wire.Items)
			if ok && p.to == j.id {
				sent += len(g.Items)
			}
			pull := j.m.spaces[keyspace.Volatile].repairs.puller
			if helpers := pull.Helpers(); killed == 0 && sent > 3000 && len(helpers) > 0 {
				if killed = helpers[0]; donor {
					killed = pull.Donor()
				}
			}
			return p.from == killed || p.to == killed
		}
		w.let(j, 3)
		w.advance(4 * time.Second)
		st := j.m.site.Counters
		if got := j.m.Snapshot(keyspace.Volatile).Len(); got != 6000 || st.Repairs != 1 {
			t.Fatalf("donor %v: %d items, %+v", donor, got, st)
		}
		if donor != (st.DonorsReplaced > 0) || sent > 6600 {
			t.Errorf("donor %v: %d items were sent for 6000, %+v", donor, sent, st)
		}
	}
}

// R5: what a helper brings is weighed like all else, and fetched from the donor when it does not
// add up.
func TestHelperThatBringsOtherItemsIsFoundOut(t *testing.T) {
	w, j := joiner(t, 3, 6000, settings.Config{FrameMax: 4096, PieceWindow: 2})
	spoilt := 0
	w.drop = func(p packet) bool {
		g, ok := p.msg.(*wire.Items)
		pull := j.m.spaces[keyspace.Volatile].repairs.puller
		if ok && p.to == j.id && pull.Running() && p.from != pull.Donor() && len(g.Items) > 0 {
			spoilt++
			g.Items[0].Payload += "!"
		}
		return false
	}
	w.let(j, 3)
	w.advance(20 * time.Second)
	w.same()
	if st := j.m.site.Counters; spoilt == 0 || st.RepairAlarms != 1 || st.Repairs == 0 || st.RangeRepairs > 0 {
		t.Fatalf("%d spoilt, %+v", spoilt, st)
	}
}

// A repair whose only donor falls silent is given up and told as broken, with the time that it
// took; gossip begins another, which is told as done.
func TestRepairThatBreaksIsTold(t *testing.T) {
	w, j := joiner(t, 1, 2500, settings.Config{FrameMax: 4096})
	silent := true
	w.drop = func(p packet) bool {
		_, gives := p.msg.(*wire.Items)
		return gives && silent && p.to == j.id
	}
	w.let(j, 1)
	w.advance(10 * time.Second)
	if n := len(j.fetched); n < 2 || j.fetched[0].State != effect.RepairBegan ||
		j.fetched[1].State != effect.RepairBroken {
		t.Fatalf("told %v", j.fetched)
	}
	if b := j.fetched[1]; b.Space != keyspace.Volatile || b.Peer != 1 || b.Items != 0 || b.Took <= 0 {
		t.Errorf("told %+v", b)
	}
	silent = false
	w.advance(20 * time.Second)
	w.same()
	if last := j.fetched[len(j.fetched)-1]; last.State != effect.RepairDone || last.Items != 2500 || last.Peer != 1 {
		t.Errorf("told %+v", last)
	}
	if st := j.m.site.Counters; st.RepairsBroken == 0 || st.Repairs != 1 {
		t.Errorf("%+v", st)
	}
}

// Whatever a donor sends: nothing is lost, the repair ends, and others are asked.
func TestHostileDonorIsLeft(t *testing.T) {
	for name, spoil := range map[string]func(*wire.Items) bool{
		"other dots":      func(g *wire.Items) bool { g.Items[0].Dot.Seq += 1 << 40; return true },
		"out of order":    func(g *wire.Items) bool { slices.Reverse(g.Items); return len(g.Items) > 1 },
		"not all":         func(g *wire.Items) bool { g.Items = g.Items[:len(g.Items)-1]; return g.ID > 0 },
		"no progress":     func(g *wire.Items) bool { g.UpTo, g.Items = g.Items[0].Dot, nil; return true },
		"up to elsewhere": func(g *wire.Items) bool { g.UpTo = crdt.Dot{Origin: 99, Seq: 1}; return true },
	} {
		w, j := joiner(t, 3, 2500, settings.Config{FrameMax: 4096})
		hostile := crdt.Origin(0)
		w.drop = func(p packet) bool {
			if g, ok := p.msg.(*wire.Items); ok && p.to == j.id && len(g.Items) > 0 &&
				(hostile == 0 || hostile == p.from) {
				if g.ID > 0 || name != "not all" {
					if pull := j.m.spaces[keyspace.Volatile].repairs.puller; pull.Running() &&
						pull.Donor() == p.from && spoil(g) {
						hostile = p.from
					}
				}
			}
			return false
		}
		w.let(j, 3)
		w.advance(10 * time.Second)
		w.same()
		if st := j.m.site.Counters; hostile == 0 || st.Malformed == 0 || st.DonorsReplaced == 0 || st.Repairs == 0 {
			t.Errorf("%s: %+v", name, st)
		}
	}
}

// A donor that has more to give than it said is left, and so is one that never comes to an end.
func TestDonorThatSaysLessThanItGivesIsLeft(t *testing.T) {
	w, j := joiner(t, 2, 2500, settings.Config{FrameMax: 4096})
	lied := false
	w.drop = func(p packet) bool {
		if h, ok := p.msg.(*wire.Head); ok && !lied {
			lied, h.Items = true, 10
		}
		return false
	}
	w.let(j, 2)
	w.advance(10 * time.Second)
	w.same()
	if st := j.m.site.Counters; st.Malformed == 0 || st.DonorsReplaced == 0 {
		t.Fatalf("%+v", st)
	}
}

// Two that ask each other at the same time repair one after the other: the second has less to find.
func TestTwoThatAskEachOtherGoOneAfterTheOther(t *testing.T) {
	w := apart(t, settings.Config{}, 500, 100)
	var heads []crdt.Origin
	w.drop = func(p packet) bool {
		if g, ok := p.msg.(*wire.Cells); ok && g.From > 0 {
			heads = append(heads, p.to)
		}
		return false
	}
	w.mendAll()
	for i, n := range w.nodes {
		s := n.m.spaces[keyspace.Volatile]
		s.repairs.puller.Begin(n.m.site.Peers[0].ID, false)
		w.net = append(w.net, packet{
			n.id, w.nodes[1-i].id, effect.Prompt, n.m.site.Eff.Send[len(n.m.site.Eff.Send)-1].Msg,
		})
	}
	w.quiet()
	w.same()
	if st := w.repairs(); st.Repairs != 2 || !slices.IsSorted(heads) {
		t.Fatalf("long sketches went to %v, %+v", heads, st)
	}
}

// Messages that this replica did not ask for change nothing: cells of another key, too many cells,
// answers to questions that were not asked.
func TestGiftsThatNobodyAskedForAreDropped(t *testing.T) {
	w := apart(t, settings.Config{}, 300, 20)
	b := w.nodes[0]
	w.drop = func(p packet) bool {
		_, cells := p.msg.(*wire.Cells)
		return cells || p.to == 2 && strings.HasPrefix(p.msg.String(), "more")
	}
	w.mendAll()
	pull := b.m.spaces[keyspace.Volatile].repairs.puller
	for i := 0; ; i++ {
		if _, begun := pull.Session(); begun {
			break
		}
		if i > 1000 {
			t.Fatal("no repair begins")
		}
		w.now = w.now.Add(100 * time.Millisecond)
		for _, n := range w.nodes {
			n.step(Tick{})
		}
		w.quiet()
	}
	session, _ := pull.Session()
	before := b.m.Snapshot(keyspace.Volatile).Digest()
	cells := make([]iblt.Cell, repair.FirstCells+1)
	for _, msg := range []wire.Message{
		&wire.Cells{Epoch: 1, Session: session, Key: 0, Cells: cells}, &wire.Cells{
			Epoch: 1, Session: session, Key: 7, Cells: cells[:9],
		},
		&wire.Cells{Epoch: 1, Session: session, From: 5, Cells: cells[:9]}, &wire.Cells{Epoch: 1, Session: session},
		&wire.Items{
			Epoch: 1, Session: session, ID: 77, Items: []*crdt.Item{
				{Dot: crdt.Dot{Origin: 2, Seq: 1}, Key: "s", Path: "x"},
			},
		},
		&wire.Items{Epoch: 1, Session: session + 1}, &wire.Head{Epoch: 1, Session: session, Clock: &crdt.Clock{}},
		&wire.Refuse{Epoch: 1, Session: 3},
	} {
		b.step(&Receive{2, msg})
	}
	if got, _ := pull.Session(); got != session || b.m.site.Counters.SketchCells > 0 ||
		b.m.Snapshot(keyspace.Volatile).Digest() != before {
		t.Fatalf("%v took it: %d cells", b.m, b.m.site.Counters.SketchCells)
	}
	w.drop = func(packet) bool { return false }
	w.meet()
}

// A puller cannot make a donor work without end: it makes sketches with two keys, and none longer
// than the longest.
func TestDonorBoundsWhatItMakes(t *testing.T) {
	w := apart(t, settings.Config{}, 300, 6)
	a := w.nodes[0]
	w.mendAll()
	a.step(&Receive{2, &wire.Pull{Epoch: 1, Session: 9, Content: w.nodes[1].m.Snapshot(keyspace.Volatile).Clock()}})
	for i, m := range []*wire.MoreCells{
		{Key: 1, Count: 64}, {Key: 2, Count: 64}, {Key: 1, From: 1 << 31, Count: 1 << 31}, {Key: 1, Count: 1<<20 + 1},
	} {
		m.Epoch, m.Session = 1, 9
		before := a.m.site.Counters.Malformed
		a.step(&Receive{2, m})
		if refused := a.m.site.Counters.Malformed > before; refused != (i > 0) {
			t.Errorf("%v: refused %v", m, refused)
		}
	}
	if d := &a.m.donating.donors; d.Len() != 1 || d.All()[0].Sketches() != 2 {
		t.Fatalf("%d donations", d.Len())
	}
	a.step(&Receive{2, &wire.Done{Epoch: 1, Session: 9}})
	if a.m.donating.donors.Len() != 0 || a.m.site.Counters.Donated != 1 {
		t.Fatal("it is kept")
	}
}

// A step does a bounded part of the work: a sketch that has to be made of many items takes several,
// of which none waits for anybody.
func TestSketchesAreMadeByAndBy(t *testing.T) {
	w := apart(t, settings.Config{SketchCells: -1}, 2*repair.WorkItems, 40)
	ticks := 0
	w.log = func(format string, args ...any) {
		if strings.HasSuffix(fmt.Sprintf(format, args...), "<- tick") {
			ticks++
		}
	}
	w.mendAll()
	w.advance(3 * time.Second)
	w.same()
	if st := w.repairs(); st.Repairs != 2 || st.RangeRepairs+st.SketchesFailed > 0 || ticks < 4 {
		t.Fatalf("%d ticks, %+v", ticks, st)
	}
}
