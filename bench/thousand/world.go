package thousand

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/queue"
	"github.com/coterie-go/coterie/proptest/sim/random"
)

// world is one play. Everything in it happens on one goroutine, in the order of its queue.
type world struct {
	set    Settings
	ctx    context.Context
	rs     random.Streams
	ids    *rand.Rand
	now    int64
	events int
	q      queue.Queue[*node]
	slots  []*slot
	nodes  map[uint64]*node // by uid; those that run
	byAddr map[string]*slot
	meter  meter
	kinds  map[string]*traffic
	owners owners
	failed error
	lost   int // messages to nodes that do not run
}

// slot is a machine with an address, on which one node runs at a time.
type slot struct {
	index int
	addr  string
	node  *node // nil: none runs
	spent [parts]time.Duration
	sent  traffic
}

func newWorld(ctx context.Context, set Settings) *world {
	rs := random.Streams{Seed: set.Seed}
	w := &world{
		set: set, ctx: ctx, rs: rs, ids: rs.Stream("ids", 0), nodes: map[uint64]*node{}, byAddr: map[string]*slot{},
		kinds: map[string]*traffic{}, meter: meter{base: time.Now()},
	}
	w.meter.begin()
	w.owners = newOwners(w, set.Shards)
	for i := range set.Nodes {
		s := &slot{index: i, addr: fmt.Sprintf("10.0.%d.%d:7946", i/250, i%250+1)}
		w.slots = append(w.slots, s)
		w.byAddr[s.addr] = s
	}
	return w
}

// clock is the time of all nodes.
func (w *world) clock() time.Time { return time.Unix(1_000_000, w.now) }

// after has something happen to a node in a while, unless it has ended by then; to none: in any case.
func (w *world) after(d time.Duration, n *node, run func()) { w.q.Push(w.now+max(0, int64(d)), n, run) }

// fail ends the play.
func (w *world) fail(format string, args ...any) {
	if w.failed == nil {
		w.failed = fmt.Errorf("at %v: %s", time.Duration(w.now), fmt.Sprintf(format, args...))
	}
}

// pass lets time go by.
func (w *world) pass(d time.Duration) error {
	end := w.now + int64(d)
	w.after(d, nil, func() {})
	_, err := w.until(d+time.Second, func() bool { return w.now >= end })
	if err != nil {
		return err
	}
	_, err = w.until(actMax, w.owners.all) // one may be on its way
	return err
}

// until lets time go on until cond holds, at most for so long. cond is looked at each ten
// milliseconds of virtual time. It returns how long that took.
func (w *world) until(most time.Duration, cond func() bool) (time.Duration, error) {
	began, looked := w.now, int64(-1)
	for w.failed == nil {
		if w.now >= looked+int64(10*time.Millisecond) {
			if looked = w.now; cond() {
				return time.Duration(w.now - began), nil
			}
		}
		if w.q.Empty() || w.now > began+int64(most) {
			return 0, fmt.Errorf("not there after %v of virtual time", time.Duration(w.now-began))
		}
		e := w.q.Pop()
		if w.now = e.At; e.Run != nil && (e.Owner == nil || e.Owner.alive) {
			e.Run()
		}
		if w.events++; w.events%4096 == 0 && w.ctx.Err() != nil {
			return 0, w.ctx.Err()
		}
	}
	return 0, w.failed
}

// carry brings a message to the node that runs under a uid when it arrives.
func (w *world) carry(from *node, to uint64, kind string, bytes int, arrive func(*node)) {
	s := from.slot
	s.sent.messages++
	s.sent.bytes += bytes
	k := w.kinds[kind]
	if k == nil {
		k = &traffic{}
		w.kinds[kind] = k
	}
	k.messages++
	k.bytes += bytes
	w.after(w.set.Latency, nil, func() {
		n := w.nodes[to]
		if n == nil {
			w.lost++
			return
		}
		n.slot.sent.received++
		arrive(n)
	})
}
