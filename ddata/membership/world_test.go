package membership

import (
	"container/heap"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// world runs machines in virtual time over a network that a test controls. It is deterministic for
// a seed.
type world struct {
	t     testing.TB
	rng   *rand.Rand
	now   time.Duration
	queue eventQueue
	seq   int
	base  Config

	nodes   []*node
	byUID   map[view.UID]*node
	disks   map[string][]byte
	nextUID func() view.UID
	least   view.UID // the bound that nodes were told

	// the network
	cut      func(from, to *node) bool                      // nil = all connected; directed
	filter   func(from, to *node, msg message.Message) bool // nil = let all through; scripts drop messages here
	latency  time.Duration
	even     bool // every message takes just latency
	loss     float64
	straggle float64 // share of messages that come up to 4 s late
	encode   bool    // pass messages through the wire format
	drift    float64 // clock rates differ from 1 by up to this
	muteLast bool    // what a node sends with its last step is lost

	// connections (dials_test.go)
	dials    bool // nodes hear how their attempts to connect to members have ended
	refusing bool // a cut refuses connections; else it swallows them

	// the driver that the world plays
	handOff time.Duration               // from Leaving to Stopped
	settle  time.Duration               // from a view to Settled; CaughtUp comes as late after the first view
	stuck   bool                        // nothing is settled any more
	agrees  func(n *node) bool          // whether a node agrees on the incarnations that end; nil: it does
	moves   func(n *node) bool          // whether a node does its part of a move of keys
	slow    func(n *node) time.Duration // if set, how long this node's disk takes for a record
	restart func(n *node)               // after a node has ended; nil = nothing

	// what else stands on a node (singleton_test.go); nil = nothing
	serveMore    func(n *node, v *view.View)
	reactMore    func(n *node, e Event)
	mayStop      func(n *node) bool // before it says that it has stopped
	arbiterStore arbiterStore       // the arbiter's lease

	checker checker
	log     func(format string, args ...any)
	watch   func(n *node, in Input, fx *Effects) // sees every step
}

// node is one incarnation of a process.
type node struct {
	offers  []view.Service
	w       *world
	uid     view.UID
	addr    string
	m       *Machine
	rate    float64
	offset  time.Duration
	alive   bool
	paused  time.Duration // until then
	gen     int
	opFree  time.Duration // until then the arbiter's lease is busy with this node
	done    error
	stopped bool
	agreed  []view.Epoch // in which it has agreed on incarnations that end
	moved   uint16       // the last move of which it has done its part
	served  bool         // it was told of a view
	waiting []string     // reasons of Waiting events
	up      uint32       // as its last view lists it
	status  view.Status
}

type happening struct {
	at  time.Duration
	seq int
	do  func()
}

type eventQueue []happening

func (q eventQueue) Len() int { return len(q) }
func (q eventQueue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].seq < q[j].seq
}
func (q eventQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *eventQueue) Push(x any)   { *q = append(*q, x.(happening)) }
func (q *eventQueue) Pop() any {
	old := *q
	x := old[len(old)-1]
	old[len(old)-1] = happening{}
	*q = old[:len(old)-1]
	return x
}

func newWorld(t testing.TB, seed uint64, base Config) *world {
	w := &world{
		t: t, rng: rand.New(rand.NewPCG(seed, 1)), base: base, byUID: make(map[view.UID]*node),
		disks:   make(map[string][]byte),
		latency: time.Millisecond, handOff: 50 * time.Millisecond, settle: 10 * time.Millisecond,
		moves: func(*node) bool { return true },
	}
	w.nextUID = func() view.UID {
		return view.DrawUID(time.Unix(1_000_000, 0).Add(w.now), w.least, w.rng.Uint64()>>24)
	}
	w.checker.init()
	w.log = func(string, ...any) {}
	return w
}

func (w *world) at(d time.Duration, do func()) {
	w.seq++
	heap.Push(&w.queue, happening{at: d, seq: w.seq, do: do})
}

func (w *world) after(d time.Duration, do func()) { w.at(w.now+d, do) }

// run lets the world go on for d.
func (w *world) run(d time.Duration) {
	end := w.now + d
	for len(w.queue) > 0 && w.queue[0].at <= end {
		e := heap.Pop(&w.queue).(happening)
		w.now = e.at
		e.do()
		w.checker.instant(w)
	}
	w.now = end
}

// until lets the world go on until cond holds, at most for d.
func (w *world) until(d time.Duration, cond func() bool) bool {
	end := w.now + d
	for !cond() {
		if len(w.queue) == 0 || w.queue[0].at > end {
			return false
		}
		w.run(w.queue[0].at - w.now)
	}
	return true
}

// start starts a new incarnation at an address.
func (w *world) start(addr string, tune func(*Config)) *node {
	cfg := w.base
	cfg.UID, cfg.Addr, cfg.Disk = w.nextUID(), addr, diskOf(addr)
	if tune != nil {
		tune(&cfg)
	}
	n := &node{w: w, uid: cfg.UID, addr: addr, rate: 1, alive: true}
	if w.drift > 0 {
		n.rate = 1 + (w.rng.Float64()*2-1)*w.drift
		n.offset = time.Duration(w.rng.Int64N(int64(1000 * time.Second)))
	}
	if stalled, ok := errors.AsType[*StalledError](CheckUID(w.disks[addr], cfg.UID)); ok {
		w.least = max(w.least, stalled.Least)
		return w.start(addr, tune)
	}
	m, err := New(cfg, rand.New(rand.NewPCG(w.rng.Uint64(), 2)), w.disks[addr])
	if err != nil {
		w.t.Fatalf("New: %v", err)
	}
	n.m = m
	w.nodes = append(w.nodes, n)
	w.byUID[n.uid] = n
	w.log("start %v", n)
	n.step(Tick{})
	return n
}

func diskOf(addr string) view.DiskID {
	var d view.DiskID
	for _, c := range []byte(addr) {
		d = d<<8 | view.DiskID(c)
	}
	return d
}

func (n *node) String() string { return fmt.Sprintf("%v@%s", n.uid, n.addr) }

// local is the node's clock.
func (n *node) local() time.Time {
	return time.Unix(1_000_000, 0).Add(n.offset + time.Duration(float64(n.w.now)*n.rate))
}

// reaches reports whether the machine hears another node.
func (n *node) reaches(o *node) bool { return n.m.member.ballots.reachable(o.uid) }

func (n *node) step(in Input) {
	w := n.w
	if !n.alive {
		return
	}
	if w.now < n.paused {
		w.at(n.paused+time.Duration(w.rng.IntN(1000))*time.Microsecond, func() { n.step(in) })
		return
	}
	fx := n.m.Step(n.local(), in)
	if w.watch != nil {
		w.watch(n, in, fx)
	}
	if err := n.m.Check(); err != nil {
		w.checker.fault(w, "invariant of %v: %v", n, err)
	}
	n.carryOut(fx)
	n.arm()
}

// arm sets the timer for the machine's deadline.
func (n *node) arm() {
	n.gen++
	gen, d := n.gen, n.m.Deadline()
	if d.IsZero() || !n.alive {
		return
	}
	left := time.Duration(float64(d.Sub(n.local()))/n.rate) + 1
	n.w.after(max(left, 1), func() {
		if n.gen == gen {
			n.step(Tick{})
		}
	})
}

func (n *node) carryOut(fx *Effects) {
	w := n.w
	record := fx.Persist
	for _, e := range fx.Send {
		if fx.Done == nil || !w.muteLast {
			w.send(n, e)
		}
	}
	for _, v := range fx.Install {
		w.checker.installed(w, n, v)
		n.serve(v)
	}
	for _, op := range fx.Arbiter {
		n.arbitrate(op)
	}
	for _, e := range fx.Events {
		n.react(e)
	}
	if fx.Done != nil {
		n.end(fx.Done)
	}
	if record != nil {
		n.write(record)
	}
}

// write plays the disk: what it has not written when its node ends is lost.
func (n *node) write(record []byte) {
	var took time.Duration
	if n.w.slow != nil {
		took = n.w.slow(n)
	}
	if took == 0 {
		n.stored(record)
		return
	}
	n.w.after(took, func() { n.stored(record) })
}

func (n *node) stored(record []byte) {
	if n.alive {
		n.w.disks[n.addr] = record
		n.step(Persisted{})
	}
}

func (n *node) end(err error) {
	n.alive, n.done = false, err
	if stalled, ok := errors.AsType[*StalledError](err); ok {
		n.w.least = max(n.w.least, stalled.Least)
	}
	n.w.log("%v ended: %v", n, err)
	if n.w.restart != nil {
		n.w.restart(n)
	}
}

// serve plays the replicators: they catch up and settle some time after a view.
func (n *node) serve(v *view.View) {
	if n.w.serveMore != nil {
		n.w.serveMore(n, v)
	}
	n.w.connect(n, v)
	me, _ := v.Member(n.uid)
	first := !n.served
	n.served = true
	if me.Status == view.Joining && first {
		n.w.after(n.w.settle, func() { n.step(CaughtUp{true}) })
	}
	n.w.after(n.w.settle, func() {
		if !n.w.stuck {
			n.step(Settled{v.Epoch})
		}
	})
	if v.Ages.Runs() && (n.w.agrees == nil || n.w.agrees(n)) {
		n.w.after(2*n.w.settle, func() {
			n.agreed = append(n.agreed, v.Epoch)
			n.step(Agreed{v.Epoch})
		})
	}
	if len(v.Moving) > 0 {
		n.w.after(2*n.w.settle, func() {
			if n.w.moves(n) {
				n.moved = v.Moves
				n.step(Moved{v.Moves})
			}
		})
	}
}

func (n *node) react(e Event) {
	if n.w.reactMore != nil {
		n.w.reactMore(n, e)
	}
	switch e := e.(type) {
	case MemberLeaving:
		if e.Member.UID == n.uid {
			n.w.after(n.w.handOff, n.sayStopped)
		}
	case Waiting:
		n.waiting = append(n.waiting, e.Reason)
	case Forked:
		n.w.checker.fault(n.w, "%v %v", n, e)
	}
}

// sayStopped is said once all that stands on the node has stopped.
func (n *node) sayStopped() {
	if n.w.mayStop != nil && !n.w.mayStop(n) && n.alive {
		n.w.after(50*time.Millisecond, n.sayStopped)
		return
	}
	n.stopped = true
	n.step(Stopped{})
}

func (w *world) send(from *node, e message.Envelope) {
	msg := e.Msg
	if w.encode {
		got, err := message.Decode(message.Append(nil, msg))
		if err != nil {
			w.checker.fault(w, "%v cannot be decoded: %v", msg, err)
			return
		}
		msg = got
	}
	if w.loss > 0 && w.rng.Float64() < w.loss {
		return
	}
	delay := w.latency
	if !w.even {
		delay += time.Duration(w.rng.ExpFloat64() * float64(w.latency))
	}
	if w.straggle > 0 && w.rng.Float64() < w.straggle {
		delay += time.Duration(w.rng.Float64() * float64(4*time.Second))
	}
	w.after(delay, func() {
		to := w.byUID[e.To]
		if e.To == 0 {
			to = w.livingAt(e.Addr)
		}
		if to == nil || !to.alive || w.cut != nil && w.cut(from, to) || w.filter != nil && !w.filter(from, to, msg) {
			return
		}
		to.step(Receive{From: from.uid, FromAddr: from.addr, Msg: msg})
	})
}

func (w *world) livingAt(addr string) *node {
	for i := len(w.nodes) - 1; i >= 0; i-- {
		if n := w.nodes[i]; n.addr == addr && n.alive {
			return n
		}
	}
	return nil
}

// crash is kill -9.
func (n *node) crash() {
	n.w.log("crash %v", n)
	n.alive = false
	n.done = errCrashed
	n.w.disconnect(n)
}

// pause is SIGSTOP for d; a pause that lasts longer stays.
func (n *node) pause(d time.Duration) { n.paused = max(n.paused, n.w.now+d) }

// pauseAll pauses every node.
func (w *world) pauseAll(d time.Duration) {
	for _, n := range w.living() {
		n.pause(d)
	}
}

var errCrashed = errors.New("crashed")

func (w *world) living() (ns []*node) {
	for _, n := range w.nodes {
		if n.alive {
			ns = append(ns, n)
		}
	}
	return ns
}

// acts reports whether the node would run a singleton at this instant.
func (n *node) acts() bool {
	if !n.alive || n.w.now < n.paused || n.stopped {
		return false
	}
	v := n.m.View()
	if v == nil {
		return false
	}
	o, ok := v.Oldest("")
	return ok && o.UID == n.uid && n.m.Lease().Holds(n.local())
}

func (w *world) acting() *node {
	for _, n := range w.nodes {
		if n.acts() {
			return n
		}
	}
	return nil
}

// converged reports whether all living nodes have one view, all are Up in it, and one of them acts.
func (w *world) converged() bool {
	ns := w.living()
	if len(ns) == 0 || w.acting() == nil {
		return false
	}
	for _, n := range ns {
		v := n.m.View()
		if v == nil || v.Hash() != ns[0].m.View().Hash() || len(v.Members) != len(ns) {
			return false
		}
		if me, _ := v.Member(n.uid); me.Status != view.Up || !n.m.Lease().Holds(n.local()) {
			return false
		}
	}
	return true
}

// addrs returns n addresses a, b, c ….
func addrs(n int) (as []string) {
	for i := range n {
		as = append(as, string(rune('a'+i)))
	}
	return as
}

// found starts n nodes that found a cluster together and waits until they have.
func (w *world) found(n int) []*node {
	w.t.Helper()
	w.base.Seeds, w.base.BootstrapExpect = addrs(n), n
	var ns []*node
	for _, a := range addrs(n) {
		ns = append(ns, w.start(a, nil))
	}
	if !w.until(30*w.base.HeartbeatInterval, w.converged) {
		w.t.Fatalf("no cluster of %d was founded: %v", n, ns[0].m)
	}
	return ns
}
