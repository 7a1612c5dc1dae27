package sharding

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/protocol/region"
	shardmachine "github.com/coterie-go/coterie/sharding/protocol/shard"
)

// control is the control plane of one region: it steps the Region and the Shard machines of one
// entity type and carries out their effects. Everything here belongs to the goroutine of its Loop.
// Machines never step each other: what one says to another waits in todo.
type control struct {
	r       *core
	ctx     context.Context // ends with the region
	cfg     protocol.Config
	rng     *rand.Rand
	state   host.Data
	quorums StateSettings

	remembered *remembered // nil: the ids are in state, too

	cluster      host.Cluster
	loop         *runloop.Loop[ctlInput]
	admission    *runloop.Admission // of the messages of other nodes
	admin        *runloop.Admission // of what they want of single entities
	coord        *coordination      // nil on a proxy
	region       *region.Region
	shards       map[uint32]*hosting
	leaseClients map[uint32]*leaseClient // by shard
	// unshared: shards, or the limit on active entities, have changed since that was divided
	unshared  bool
	stopWaits []*stopWait // that have not ended
	todo      []ctlInput
	due       dueHeap
	table     protocol.TableWatch
	latest    atomic.Pointer[crdt.Reader] // of the table, not looked at yet
	event     func(protocol.Event)
	emit      func(events.Event) // nil: the log takes it
	homes     []uint64           // by shard, where its route last led; 0: nowhere yet
	view      *membership.View
	left      chan struct{} // closed when nothing is left here
	hasLeft   bool          // the effect Left was there
	ended     bool          // no machine is stepped any more

	asideMu sync.Mutex // ctx ends under it
	asides  sync.WaitGroup

	noHostAt              time.Time     // when to look whether messages wait that no node can take; zero: none wait
	measureEvery          time.Duration // 0: never
	measureAt, measuredAt time.Time

	retryAt time.Time // of what follows
	flushes map[uint32]bool
	fences  map[protocol.ShardID]protocol.SendFence // the latest of each shard counts
}

// hosting is one Shard machine and what it steers.
type hosting struct {
	s        *shard
	m        *shardmachine.Shard
	deadline time.Time                  // the one in due, zero when there is none
	starts   map[uint64]bufferedMessage // StartEntity that wait
	lastReq  uint64
	ids      crdt.Reader  // the remembered ids that the machine knows of
	idsKnown bool         // it has read them
	idsNext  *crdt.Reader // newer ones, to be compared
	idsBusy  bool         // being compared
}

// ctlInput is one input: for the Region machine, for the Shard machine of s, or a function to run.
type ctlInput struct {
	region protocol.RegionInput
	shard  protocol.ShardInput
	s      *shard
	do     func(now time.Time)
	from   runloop.Permit // of another node's message
}

// Bounds of the control plane.
const (
	inboxMax   = 1 << 16
	retryPause = 5 * time.Millisecond // until a full lane or mailbox is tried again
)

func (c *control) post(in ctlInput)                 { c.loop.Force(in) }
func (c *control) toRegion(in protocol.RegionInput) { c.todo = append(c.todo, ctlInput{region: in}) }
func (c *control) toShard(s *shard, in protocol.ShardInput) {
	c.todo = append(c.todo, ctlInput{shard: in, s: s})
}

// Step implements runloop.Machine.
func (c *control) Step(now time.Time, in ctlInput) {
	in.from.Release()
	c.todo = append(c.todo, in)
	for i := 0; i < len(c.todo); i++ {
		switch in := c.todo[i]; {
		case in.do != nil:
			in.do(now)
		case c.ended:
		case in.region != nil:
			c.regionEffects(c.region.Step(now, in.region))
			c.noteCoordinator()
		case in.shard != nil:
			c.stepShard(now, in.s, in.shard)
		}
	}
	clear(c.todo)
	c.todo = c.todo[:0]
}

// printedMax is how many shards control prints.
const printedMax = 256

// String prints the machines that it steps, each in a line.
func (c *control) String() string {
	lines := []string{c.region.String()}
	for i, number := range slices.Sorted(maps.Keys(c.shards)) {
		if i == printedMax {
			lines = append(lines, fmt.Sprintf("and %d shards more", len(c.shards)-i))
			break
		}
		lines = append(lines, c.shards[number].m.String())
	}
	return strings.Join(lines, "\n")
}

// noteCoordinator makes known how the region and its coordinator stand.
func (c *control) noteCoordinator() {
	registered, ever := c.region.Registered()
	coordinator, absent := c.region.Coordinator()
	c.r.standing.regionSteps(registered, ever, uint64(coordinator), absent)
}

// Flush implements runloop.Machine: however many shards have come and gone, the limit on active
// entities is divided anew once.
func (c *control) Flush() {
	c.r.meters.machine("region", c.region.Stats)
	if !c.unshared {
		return
	}
	c.unshared = false
	c.r.passivations.reshare(len(c.shards), func(yield func(*shard) bool) {
		for _, h := range c.shards {
			if !yield(h.s) {
				return
			}
		}
	})
}

// Deadline implements runloop.Machine.
func (c *control) Deadline() time.Time {
	if c.ended {
		return time.Time{}
	}
	d := c.region.Deadline()
	if len(c.due) > 0 {
		d = earlier(d, c.due[0].at)
	}
	return earlier(earlier(earlier(d, c.noHostAt), c.retryAt), c.measureAt)
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Tick implements runloop.Machine.
func (c *control) Tick() ctlInput { return ctlInput{do: c.tick} }

func (c *control) tick(now time.Time) {
	if c.ended {
		return
	}
	if d := c.region.Deadline(); !d.IsZero() && !now.Before(d) {
		c.toRegion(protocol.Tick{})
	}
	for len(c.due) > 0 && !now.Before(c.due[0].at) {
		d := heap.Pop(&c.due).(dueShard)
		if d.h.deadline.Equal(d.at) {
			d.h.deadline = time.Time{}
			c.toShard(d.h.s, protocol.Tick{})
		}
	}
	if !c.noHostAt.IsZero() && !now.Before(c.noHostAt) {
		c.warnUnhosted(now)
	}
	if !c.measureAt.IsZero() && !now.Before(c.measureAt) {
		c.measure(now)
	}
	if !c.retryAt.IsZero() && !now.Before(c.retryAt) {
		c.retry(now)
	}
}

// stepShard steps the machine of a shard; inputs about an earlier hosting of it are ignored.
func (c *control) stepShard(now time.Time, s *shard, in protocol.ShardInput) {
	h := c.shards[s.number]
	if h == nil || h.s != s {
		return
	}
	c.shardEffects(h, h.m.Step(now, in))
	if d := h.m.Deadline(); !d.Equal(h.deadline) {
		h.deadline = d
		if !d.IsZero() {
			heap.Push(&c.due, dueShard{d, h})
		}
	}
}

// dueShard is a deadline of a Shard machine; it counts only while it is the hosting's latest.
type dueShard struct {
	at time.Time
	h  *hosting
}

type dueHeap []dueShard

func (d dueHeap) Len() int           { return len(d) }
func (d dueHeap) Less(i, j int) bool { return d[i].at.Before(d[j].at) }
func (d dueHeap) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }

// Push implements heap.Interface.
func (d *dueHeap) Push(x any) { *d = append(*d, x.(dueShard)) }

// Pop implements heap.Interface.
func (d *dueHeap) Pop() any {
	old := *d
	x := old[len(old)-1]
	old[len(old)-1] = dueShard{}
	*d = old[:len(old)-1]
	return x
}

// send puts a message on the control lane. What does not fit is lost: the machines repeat what is
// not answered.
func (c *control) send(e protocol.Envelope) {
	if uint64(e.To) == c.r.self {
		c.deliver(e.To, e.Msg, runloop.Permit{})
		return
	}
	if err := c.r.out.sendControl(e.To, transport.Control, 0, appendQuestion(nil, e.Msg)); err != nil {
		c.r.log.Debug("sharding message not sent", "type", c.r.name, "to", e.To, "message", e.Msg.String(), "error", err)
	}
}

// deliver hands a message to the machine that it is for.
func (c *control) deliver(from protocol.UID, m protocol.Message, place runloop.Permit) {
	in := protocol.Receive{From: from, Msg: m}
	switch {
	case !m.ToCoordinator():
		c.post(ctlInput{region: in, from: place})
	case c.coord != nil:
		c.coord.loop.Force(coordInput{in: in, from: place})
	default:
		place.Release()
	}
}

func (c *control) notify(e protocol.Event) {
	c.r.noted[e.Kind].Add(1)
	c.r.meters.noted(e)
	c.tell(Event{c.r.name, e})
	if c.event != nil {
		c.event(e)
	}
}

// tell hands an event to the node, or to the log where there is no way to.
func (c *control) tell(e events.Event) {
	if c.emit != nil {
		c.emit(e)
		return
	}
	l := e.Line()
	c.r.log.LogAttrs(c.ctx, l.Level, l.Message, l.Attrs...)
}

// fence appends a fence to the data lane of its shard. One that finds no room is tried again: it
// may be late, but not before a message that was appended earlier.
func (c *control) fence(f protocol.SendFence) {
	delete(c.fences, f.Shard)
	frame := appendControl(nil, protocol.AppendMessage(nil, protocol.Fence{Shard: f.Shard, HandOff: f.HandOff}))
	err := c.r.out.sendControl(f.To, transport.Data, uint32(f.Shard), frame)
	notYet := errors.Is(err, transport.ErrNoPeer) && c.view != nil && c.view.Has(f.To)
	if notYet || errors.Is(err, transport.ErrQueueFull) {
		c.fences[f.Shard] = f
		c.retryAt = earlier(c.retryAt, time.Now().Add(retryPause))
	}
}

// retry tries what found no room.
func (c *control) retry(now time.Time) {
	c.retryAt = time.Time{}
	for _, f := range maps.Clone(c.fences) {
		c.fence(f)
	}
	for number := range c.flushes {
		if c.r.routes.flush(number) {
			delete(c.flushes, number)
		}
	}
	if len(c.flushes) > 0 {
		c.retryAt = earlier(c.retryAt, now.Add(retryPause))
	}
	c.maybeLeft()
}

func (c *control) later(number uint32) {
	c.flushes[number] = true
	c.retryAt = earlier(c.retryAt, time.Now().Add(retryPause))
}
