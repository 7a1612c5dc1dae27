package protocol_test

import (
	"container/heap"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// world runs the machines of several nodes in virtual time: control messages are lost, repeated and
// reordered; data lanes are FIFO; writes of the replicated state reach the nodes at different
// times, and those that failed may still arrive. Its checkers stand outside of the machines.
type world struct {
	rng   *rand.Rand
	now   time.Time
	queue eventQueue
	seq   int
	opt   simOptions

	view    *view.View
	nodes   map[protocol.UID]*simNode
	order   []protocol.UID // all nodes that ever were, by age
	nextUID protocol.UID

	table      map[protocol.ShardID]protocol.Entry // what a majority knows
	regions    map[protocol.UID]bool
	remembered simSet[protocol.ShardID]
	ids        map[protocol.ShardID]*simSet[protocol.EntityID]

	lives   map[protocol.EntityID]protocol.UID // where each entity lives
	sent    map[stream]int                     // messages told
	handled map[stream]int                     // the last one handled
	got     map[stream]map[int]bool            // all handled
	lost    map[string]int                     // messages known to be lost, by reason
	healed  bool
	lags    bool // views come late to single nodes, and some lanes are slow

	store simStore
	// shards whose messages may have overtaken each other: a lease was lost, or not to be had
	// before they moved on
	unordered map[protocol.ShardID]bool

	strategy allocation.Strategy
	verbose  func(string, ...any)
	err      error
}

// stream is what must stay in order: the messages of one node to one entity.
type stream struct {
	from protocol.UID
	to   protocol.EntityID
}

type simMsg struct {
	stream
	n    int
	hops int
}

type simOptions struct {
	nodes, proxies, shards, entities int
	remember                         bool
	lossy                            bool // control messages and state
	crashes                          bool // nodes die, so messages may be lost
	slow                             bool // handlers that stall beyond the stop timeout
	strategies                       bool // the seed draws one of all strategies, a user's wild one among them
	// percent of handled messages after which an idle entity passivates; default 2
	passivate int
	leases    bool // of shards and the coordinator, some of which somebody outside takes
	stops     bool // shards are stopped for good, amid all else
	absences  bool // the type is not started on some nodes, and closed and started again on others
	forgets   bool // a node forgets what it has promised before it started the type
	noGate    bool // the runtime does not look at leases
	defects   defect.Set
}

type simEvent struct {
	at  time.Time
	seq int
	do  func()
}

type eventQueue []simEvent

func (q eventQueue) Len() int { return len(q) }
func (q eventQueue) Less(i, j int) bool {
	return q[i].at.Before(q[j].at) || q[i].at.Equal(q[j].at) && q[i].seq < q[j].seq
}
func (q eventQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *eventQueue) Push(x any)   { *q = append(*q, x.(simEvent)) }
func (q *eventQueue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}

func newWorld(seed uint64, opt simOptions) *world {
	w := &world{
		rng: rand.New(rand.NewPCG(seed, 7)), now: time.Unix(1_000_000, 0), opt: opt,
		nodes: map[protocol.UID]*simNode{}, nextUID: 1, table: map[protocol.ShardID]protocol.Entry{},
		regions: map[protocol.UID]bool{},
		ids:     map[protocol.ShardID]*simSet[protocol.EntityID]{}, lives: map[protocol.EntityID]protocol.UID{},
		sent: map[stream]int{}, handled: map[stream]int{}, got: map[stream]map[int]bool{}, lost: map[string]int{},
		lags: seed%3 == 0, store: newSimStore(), unordered: map[protocol.ShardID]bool{},
		verbose: func(string, ...any) {}, view: &view.View{Epoch: 1},
	}
	if opt.strategies {
		all := []allocation.Strategy{
			allocation.Threshold{}, allocation.ConsistentHashing{RebalanceLimit: 3}, allocation.External{},
			allocation.LoadAware{RestAfterMove: time.Second}, wild{w},
		}
		w.strategy = all[seed%uint64(len(all))]
	}
	for range opt.nodes {
		w.join(false)
	}
	for range opt.proxies {
		w.join(true)
	}
	if opt.strategies {
		w.measure()
		w.locate()
	}
	return w
}

func (w *world) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("at %v: %s", w.now.Sub(time.Unix(1_000_000, 0)), fmt.Sprintf(format, args...))
	}
}

func (w *world) after(d time.Duration, do func()) {
	w.seq++
	heap.Push(&w.queue, simEvent{at: w.now.Add(d), seq: w.seq, do: do})
}

// between draws a duration.
func (w *world) between(lo, hi time.Duration) time.Duration {
	return lo + time.Duration(w.rng.Int64N(int64(hi-lo)+1))
}

func (w *world) chance(percent int) bool { return w.rng.IntN(100) < percent }

// run carries out events until the time is over or a checker complains.
func (w *world) run(d time.Duration) {
	end := w.now.Add(d)
	for w.err == nil && len(w.queue) > 0 && !w.queue[0].at.After(end) {
		e := heap.Pop(&w.queue).(simEvent)
		w.now = e.at
		e.do()
	}
	if w.err == nil {
		w.now = end
	}
}

// live are the nodes that have not died or left, oldest first.
func (w *world) live() []*simNode {
	var ns []*simNode
	for _, u := range w.order {
		if n := w.nodes[u]; n.alive {
			ns = append(ns, n)
		}
	}
	return ns
}

func (w *world) member(u protocol.UID) *view.Member {
	i := slices.IndexFunc(w.view.Members, func(m view.Member) bool { return m.UID == u })
	if i < 0 {
		return nil
	}
	return &w.view.Members[i]
}

// change decides the next view and lets every node install it in its own time.
func (w *world) change(f func(v *view.View)) {
	v := *w.view
	v.Epoch++
	v.Members = slices.Clone(w.view.Members)
	f(&v)
	slices.SortFunc(v.Members, func(a, b view.Member) int { return int(a.UID) - int(b.UID) })
	w.view = &v
	w.verbose("%v", w.view)
	for _, n := range w.live() {
		w.after(w.between(0, 40*time.Millisecond)+w.lag(700*time.Millisecond), func() { n.install(&v) })
	}
}

// lag draws by how much longer than usual something takes: mostly by nothing.
func (w *world) lag(most time.Duration) time.Duration {
	if !w.lags || w.healed || !w.chance(10) {
		return 0
	}
	return w.between(0, most)
}

// join adds a node; it is Up, and so may host, a while later.
func (w *world) join(proxy bool) *simNode {
	n := newSimNode(w, w.nextUID, proxy)
	w.nextUID++
	w.nodes[n.uid] = n
	w.order = append(w.order, n.uid)
	m := view.Member{UID: n.uid, Addr: addrOf(n.uid), Status: view.Joining}
	if !proxy {
		m.Roles = []string{"r"}
	}
	w.change(func(v *view.View) { v.Members = append(v.Members, m) })
	w.after(w.between(50*time.Millisecond, 200*time.Millisecond), func() { w.up(n) })
	return n
}

func (w *world) up(n *simNode) {
	if !n.alive || w.member(n.uid) == nil {
		return
	}
	w.change(func(v *view.View) {
		v.LastUp++
		i := slices.IndexFunc(v.Members, func(m view.Member) bool { return m.UID == n.uid })
		v.Members[i].Status, v.Members[i].UpNumber = view.Up, v.LastUp
	})
	n.setLease(true)
}

func (w *world) leave(n *simNode) {
	if !n.alive || n.leaving || w.member(n.uid) == nil || w.member(n.uid).Status != view.Up {
		return
	}
	n.leaving = true
	w.verbose("leave %v", n.uid)
	w.change(func(v *view.View) {
		i := slices.IndexFunc(v.Members, func(m view.Member) bool { return m.UID == n.uid })
		v.Members[i].Status = view.Leaving
	})
	if n.region == nil || n.closed() {
		n.goWhenSent()
	}
	n.post(protocol.Leave{})
}

// remove takes a node out of the view. It has stopped, or its lease has run out before.
func (w *world) remove(n *simNode) {
	if w.member(n.uid) == nil {
		return
	}
	w.change(func(v *view.View) {
		v.Members = slices.DeleteFunc(v.Members, func(m view.Member) bool { return m.UID == n.uid })
	})
}

// crash kills a node at once; the others drop it when its lease would have run out.
func (w *world) crash(n *simNode) {
	w.verbose("crash %v", n.uid)
	n.die("crash")
	w.after(w.between(100*time.Millisecond, 600*time.Millisecond), func() { w.remove(n) })
}

// isolate cuts a node off until it is dropped: its machines go on, without a lease, and what they
// have sent may still arrive.
func (w *world) isolate(n *simNode) {
	w.verbose("isolate %v", n.uid)
	n.setLease(false)
	n.cut = true
	n.freeze()
	w.after(w.between(200*time.Millisecond, 600*time.Millisecond), func() {
		w.remove(n)
		w.after(w.between(0, 300*time.Millisecond), func() { n.die("dropped") })
	})
}

var errSimState = errors.New("no majority")

// write is a majority write: it takes effect somewhere between its start and its end; one that
// failed takes effect late, or never. What a removal removes is fixed when it is begun.
func (w *world) write(n *simNode, sw protocol.StateWrite, done func(error)) {
	apply := w.begun(sw)
	d := w.between(time.Millisecond, 20*time.Millisecond)
	if !n.cut && !(w.opt.lossy && !w.healed && w.chance(8)) {
		w.after(d, apply)
		w.after(d+w.between(0, 10*time.Millisecond), func() { done(nil) })
		return
	}
	if w.chance(60) {
		w.after(w.between(0, time.Second), apply)
	}
	w.after(d, func() { done(errSimState) })
}

func (w *world) begun(sw protocol.StateWrite) func() {
	switch sw.Kind {
	case protocol.StateHomes:
		return func() { w.applyHomes(sw.Homes) }
	case protocol.StateRegions:
		return func() {
			for _, u := range sw.AddRegions {
				w.regions[u] = true
			}
			for _, u := range sw.RemoveRegions {
				delete(w.regions, u)
			}
		}
	case protocol.StateRemembered:
		apply := w.remembered.begin(sw.AddShards, sw.RemoveShards)
		return func() { apply() }
	}
	if w.ids[sw.Shard] == nil {
		w.ids[sw.Shard] = &simSet[protocol.EntityID]{}
	}
	apply := w.ids[sw.Shard].begin(sw.AddIDs, sw.RemoveIDs)
	return func() {
		in := protocol.IDsChanged{}
		if in.Added, in.Removed = apply(); len(in.Added)+len(in.Removed) == 0 {
			return
		}
		for _, n := range w.live() {
			n.stepShard(sw.Shard, in)
		}
	}
}

func (w *world) applyHomes(es []protocol.Entry) {
	for _, e := range es {
		if w.table[e.Shard].Token.Less(e.Token) {
			w.table[e.Shard] = e
		}
	}
	for _, n := range w.live() {
		if !n.proxy {
			w.after(w.between(0, 60*time.Millisecond), func() { n.table(es) })
		}
	}
}

// simSet is an observed-remove set: each addition is a thing of its own, and a removal takes away
// those that were made before it.
type simSet[E ~uint32 | ~string] struct {
	made int
	adds map[E][]int // of an element, all additions ever
	here map[int]bool
	gone map[int]bool
}

// begin makes a change and returns what applies it.
func (s *simSet[E]) begin(add, remove []E) (apply func() (added, removed []E)) {
	if s.adds == nil {
		s.adds, s.here, s.gone = map[E][]int{}, map[int]bool{}, map[int]bool{}
	}
	dots := map[E]int{}
	for _, e := range add {
		s.made++
		dots[e] = s.made
		s.adds[e] = append(s.adds[e], s.made)
	}
	observed := map[E][]int{}
	for _, e := range remove {
		observed[e] = slices.Clone(s.adds[e])
	}
	return func() (added, removed []E) {
		for _, e := range add {
			if d := dots[e]; !s.gone[d] && !s.here[d] {
				if !s.has(e) {
					added = append(added, e)
				}
				s.here[d] = true
			}
		}
		for _, e := range remove {
			had := s.has(e)
			for _, d := range observed[e] {
				delete(s.here, d)
				s.gone[d] = true
			}
			if had && !s.has(e) {
				removed = append(removed, e)
			}
		}
		return added, removed
	}
}

func (s *simSet[E]) has(e E) bool {
	return s != nil && slices.ContainsFunc(s.adds[e], func(d int) bool { return s.here[d] })
}

func (s *simSet[E]) all() []E {
	var out []E
	if s != nil {
		for e := range s.adds { // order: sorted below
			if s.has(e) {
				out = append(out, e)
			}
		}
	}
	slices.Sort(out)
	return out
}

func (w *world) read(n *simNode, r protocol.StateRead, done func(protocol.DidRead)) {
	w.after(w.between(time.Millisecond, 20*time.Millisecond), func() {
		in := protocol.DidRead{ID: r.ID}
		if n.cut || w.opt.lossy && !w.healed && w.chance(8) {
			in.Err = errSimState
			done(in)
			return
		}
		switch r.Kind {
		case protocol.StateHomes:
			for s := range protocol.ShardID(w.opt.shards) {
				if e, ok := w.table[s]; ok {
					in.Homes = append(in.Homes, e)
				}
			}
		case protocol.StateRegions:
			for _, u := range w.order {
				if w.regions[u] {
					in.Regions = append(in.Regions, u)
				}
			}
		case protocol.StateRemembered:
			in.Shards = w.remembered.all()
		case protocol.StateIDs:
			in.IDs = w.ids[r.Shard].all()
		}
		done(in)
	})
}
