package replicator

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/replicator/wire"
)

// model drives a world at random and knows what must hold: what was acknowledged by a majority is
// never lost while a majority of every unsettled view lives; a quorum read sees every write that
// was acknowledged before it began; what a linearizable read saw, every later one sees, and of two
// that overlap one sees all that the other does; of an update that looks back and a linearizable
// read one sees the other; equal clocks mean equal digests.
type model struct {
	*world
	rt     *rapid.T
	views  []replica.View // all that were decided, newest last
	next   crdt.Origin
	writes []*writeOf
	reads  []*readOf
	seen   map[string][][]string // by key, what linearizable reads saw
	looked map[string][]look     // by key, what updates were told by their acks
	parted bool
	mood   int // one packet in so many is lost, and so on
	calm   int // one chance in so many that the membership changes
	counts []*writeOf
}

// write is one addition of an element that is never removed.
type writeOf struct {
	by     *node
	id     uint64
	key    string
	elem   string
	level  quorum.Level
	must   []string // what the acks have to tell
	acked  bool
	forget bool // it was volatile, and everything was stopped
}

// look is an update with what its acks told.
type look struct {
	elem string
	saw  []string
}

// kept reports whether the write must never be lost once it is acknowledged.
func (w *writeOf) kept() bool { return !w.forget && w.level != quorum.Local && w.level != quorum.To(2) }

// read is a quorum read, with what it has to see.
type readOf struct {
	by    *node
	id    uint64
	key   string
	level quorum.Level
	must  []string
}

var modelKeys = []string{"v/a", "v/b", "d/a", "d/b", "1/a", "2/a"}

// modelMoves are the patterns that become durable one after the other.
var modelMoves = []string{"1/*", "2/*"}

// durable reports whether what is acknowledged at a key outlives a cold start.
func durable(v replica.View, key string) bool {
	return keyspace.NewRoutes([]string{"d/*"}, v.Durable).SpaceOf(key) == keyspace.Durable
}

// after returns the view that follows one, without members.
func after(old replica.View) replica.View {
	return replica.View{Epoch: old.Epoch + 1, Durable: old.Durable, Moving: old.Moving, Moves: old.Moves,
		Move: old.Move}
}

// endMove makes the moving keys durable if all members that stay have done their part.
func (m *model) endMove(v *replica.View) {
	for _, p := range append(slices.Clone(v.Voters), v.Learners...) {
		if n := m.node(p.ID); n == nil || n.moved != v.Moves {
			return
		}
	}
	v.Durable, v.Moving, v.Move = slices.Concat(v.Durable, v.Moving), nil, false
}

func newModel(rt *rapid.T) *model {
	cfg := settings.Config{
		DurableKeys:  []string{"d/*"},
		FrameMax:     rapid.SampledFrom([]int{512, 1 << 16}).Draw(rt, "frame"),
		PushWindow:   rapid.SampledFrom([]int{512, 1 << 20}).Draw(rt, "window"),
		PushFlight:   rapid.IntRange(1, 3).Draw(rt, "flight"),
		LogMax:       rapid.SampledFrom([]int{1, 8, 1 << 18}).Draw(rt, "log"),
		PieceWindow:  rapid.IntRange(1, 4).Draw(rt, "pieces"),
		StepItems:    rapid.SampledFrom([]int{1, 3, 256}).Draw(rt, "items in a step"),
		DonorsMax:    rapid.IntRange(1, 3).Draw(rt, "donors"),
		SuppliersMax: rapid.IntRange(1, 3).Draw(rt, "suppliers"),
		SketchCells:  rapid.SampledFrom([]int{-1, 70, 2000}).Draw(rt, "cells"),
		SketchFrom:   rapid.SampledFrom([]int{1, 20}).Draw(rt, "sketch from"),
		SketchMax:    rapid.SampledFrom([]int{64, 1 << 16}).Draw(rt, "sketch max"),
		WriteBehind: rapid.SampledFrom([]time.Duration{
			0, 30 * time.Millisecond, 300 * time.Millisecond,
		}).Draw(rt, "behind"),
		GossipInterval: 500 * time.Millisecond, RetryInterval: 100 * time.Millisecond, DonorExpiry: 2 * time.Second,
	}
	if rapid.IntRange(0, 3).Draw(rt, "weak sketch") == 0 {
		cfg.Plant(defect.Of(defect.WeakSketch))
	}
	m := &model{world: newWorld(rt, rapid.Uint64().Draw(rt, "seed"), cfg), rt: rt, seen: map[string][][]string{},
		looked: map[string][]look{}}
	m.mood = rapid.SampledFrom([]int{8, 30, 200}).Draw(rt, "mood")
	m.calm = rapid.SampledFrom([]int{1, 3, 10}).Draw(rt, "calm")
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

func (m *model) decide(v replica.View) { m.views = append(m.views, v) }

func (m *model) newest() replica.View { return m.views[len(m.views)-1] }

func (m *model) alive() []*node {
	return slices.DeleteFunc(slices.Clone(m.nodes), func(n *node) bool { return n.down })
}

func (m *model) some(label string) *node {
	all := m.alive()
	return all[rapid.IntRange(0, len(all)-1).Draw(m.rt, label)]
}

// rarely reports whether the membership may change now.
func (m *model) rarely() bool { return rapid.IntRange(1, m.calm).Draw(m.rt, "rarely") == 1 }

func (m *model) lives(id crdt.Origin) bool { return m.node(id) != nil }

// settled returns the newest epoch that one of these nodes has found to be settled. It returns 0 if
// not even the founding view is. What only dead nodes had found is true, but no live node knows it:
// the others may raise an alarm.
func (m *model) settled(there func(crdt.Origin) bool) uint64 {
	var settled uint64
	if len(m.views[0].LastDisks) == 0 {
		settled = m.views[0].Epoch
	}
	for _, n := range m.nodes {
		if s := n.m.Settled(); s >= m.views[0].Epoch && there(n.id) {
			settled = max(settled, s)
		}
	}
	return settled
}

// unsettled returns the newest view that one of these nodes has found to be settled, and all later
// views.
func (m *model) unsettled(there func(crdt.Origin) bool) []replica.View {
	settled := m.settled(there)
	return slices.DeleteFunc(slices.Clone(m.views), func(v replica.View) bool { return v.Epoch < settled })
}

// bears reports whether a majority of every unsettled view would still be there among these.
func (m *model) bears(there func(crdt.Origin) bool) bool {
	if m.settled(there) == 0 {
		var disks []uint64
		for _, x := range m.nodes {
			if there(x.id) {
				disks = append(disks, x.diskID)
			}
		}
		if !witnessed(m.views[0].LastDisks, disks) {
			return false
		}
	}
	for _, v := range m.unsettled(there) {
		n := 0
		for _, p := range v.Voters {
			if there(p.ID) {
				n++
			}
		}
		if n < quorum.MajorityOf(len(v.Voters)) {
			return false
		}
	}
	return true
}

// witnessed reports whether these disks meet every majority of each set.
func witnessed(sets [][]uint64, disks []uint64) bool {
	for _, set := range sets {
		n := 0
		for _, d := range set {
			if slices.Contains(disks, d) {
				n++
			}
		}
		if n < len(set)-len(set)/2 {
			return false
		}
	}
	return true
}

// check is called after every action.
func (m *model) check() {
	m.note()
	alive := m.alive()
	for s := range keyspace.Count {
		for i, a := range alive {
			for _, b := range alive[i+1:] {
				x, y := a.m.spaces[s].Store, b.m.spaces[s].Store
				if x.Clock().Equal(y.Clock()) && x.Digest() != y.Digest() {
					m.rt.Fatalf("%v of %s and %s: equal clocks %s, different digests",
						s, wire.Short(a.id), wire.Short(b.id), wire.ClockName(x.Clock()))
				}
			}
		}
	}
}

// heal ends all trouble: every node gets the newest view, which has no dead in it.
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
			if n.m.site.View.Epoch < m.newest().Epoch {
				n.step(Install{m.newest().Normal()})
			}
		}
		m.advance(20 * time.Second)
	}
}

// clean decides a view of all that live and have caught up.
func (m *model) clean() {
	old := m.newest()
	v := after(old)
	for _, p := range append(slices.Clone(old.Voters), old.Learners...) {
		switch x := m.node(p.ID); {
		case x == nil:
		case x.m.CaughtUp():
			v.Voters = append(v.Voters, p)
		default:
			v.Learners = append(v.Learners, p)
		}
	}
	m.endMove(&v)
	m.decide(v)
}

// verify looks at the end of the world: all hold the same, and nothing that was acknowledged is
// lost.
func (m *model) verify() {
	m.same()
	v := m.newest().Normal()
	if v.Move {
		m.rt.Fatalf("%v is still moving\n%s", v.Moving, m.dump())
	}
	m.verifyCounts(v)
	for _, p := range v.Voters {
		n := m.node(p.ID)
		if n.m.Settled() != v.Epoch || !n.m.CaughtUp() {
			m.rt.Fatalf("%s has settled %d of %d\n%s", wire.Short(n.id), n.m.Settled(), v.Epoch, m.dump())
		}
		for _, s := range n.settled {
			if s.Lost {
				m.rt.Fatalf("%s says %v, but a majority was always there", wire.Short(n.id), s)
			}
		}
		for _, w := range m.writes {
			if w.acked && w.kept() && !slices.Contains(n.set(w.key), w.elem) {
				m.rt.Fatalf("%.8q in %s, acknowledged to %s at %v, is lost at %s\n%s",
					w.elem, w.key, wire.Short(w.by.id), w.level, wire.Short(n.id), m.dump())
			}
		}
		alarms := n.m.site.Counters.RepairAlarms
		if m.cfg.Planted(defect.WeakSketch) {
			alarms = 0 // they are what saves it
		}
		if n.m.site.Counters.DigestAlarms+alarms+n.m.site.Counters.Malformed > 0 {
			m.rt.Fatalf("%s: %+v", wire.Short(n.id), n.m.site.Counters)
		}
	}
}

// verifyCounts looks at the counters: they hold what was acknowledged, and no more than was tried.
func (m *model) verifyCounts(v replica.View) {
	for _, key := range []string{"1/n", "2/n"} {
		least, most := uint64(0), uint64(0)
		for _, c := range m.counts {
			if c.key != key {
				continue
			}
			most++
			if c.acked && c.kept() {
				least++
			}
		}
		for _, p := range v.Voters {
			n := m.node(p.ID)
			r, err := aCount.View(n.m.Snapshot(n.m.SpaceOf(key)).View(key))
			if err != nil || r.Value() < least || r.Value() > most {
				m.rt.Fatalf("%s counts %d in %s, acknowledged %d, tried %d (%v)\n%s",
					wire.Short(n.id), r.Value(), key, least, most, err, m.dump())
			}
		}
	}
}

func TestNothingAcknowledgedIsLostWhateverTheNetworkDoes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newModel(rt)
		do := func(f func()) func(*rapid.T) { return func(*rapid.T) { f() } }
		rt.Repeat(map[string]func(*rapid.T){
			"write": do(m.doWrite), "write2": do(m.doWrite), "churn": do(m.doChurn), "read": do(m.doRead),
			"deliver": do(m.doDeliver), "deliver2": do(m.doDeliver), "deliver3": do(m.doDeliver),
			"deliver4": do(m.doDeliver),
			"quiet":    do(m.doQuiet), "time": do(m.doTime), "disk": do(m.doDisk), "disk2": do(m.doDisk),
			"cut": do(m.doCut), "reachable": do(m.doReachable), "crash": do(m.doCrash), "cold start": do(m.doColdStart),
			"join": do(func() { m.join(nil, 0) }), "view": do(m.doView), "move": do(m.doMove), "count": do(m.doCount),
			"install": do(m.doInstall), "install2": do(m.doInstall),
			"": do(m.check),
		})
		m.heal()
		m.verify()
	})
}
