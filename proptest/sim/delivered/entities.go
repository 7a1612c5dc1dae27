package delivered

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/proptest/sim/persisted"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/trace"
	"github.com/coterie-go/coterie/proptest/sim/workload"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/delivery"
)

// Type is the name of the entity type.
const Type = "delivered"

type (
	// Process is a node, as its entities see it.
	Process = workload.Process
	// World is where they live.
	World = workload.World
)

// Note is what clients send: its number in the world.
type Note uint64

// Context is that of handlers.
type Context = sharding.Context[Note]

// errFails is what handlers return that fail.
var errFails = errors.New("a handler that fails")

// Entities are those of a world.
type Entities struct {
	w           World
	world       *options.Options
	opt         options.Delivered // of world
	trace       *trace.Trace
	rng         *rand.Rand // the clients'
	rngHandlers *rand.Rand
	judge       *Judge
	queues      *Queues
	producers   map[uint64]*producer // by UID; only looked up
	sent        Note
	handled     map[Note]int // how often each was; only looked up
	counts      Counts
}

// Counts are what was done.
type Counts struct {
	Judged
	Sent, Stored, Unconfirmed, Later, Rejected uint64
}

// Add sums the counts of runs.
func (c *Counts) Add(o Counts) {
	c.Given += o.Given
	c.Again += o.Again
	c.Handled += o.Handled
	c.Failed += o.Failed
	c.Confirmed += o.Confirmed
	c.Sent += o.Sent
	c.Stored += o.Stored
	c.Unconfirmed += o.Unconfirmed
	c.Later += o.Later
	c.Rejected += o.Rejected
}

// producer is that of a process.
type producer struct {
	id     string
	of     *delivery.Producer[Note]
	region *sharding.Region[Note]
	flush  Flush
}

// Users makes the users of a world: those of its script, or the clients of producers, or none.
func Users(o *options.Options, w World, rs random.Streams, t *trace.Trace) workload.Workload {
	if o.Delivered.Entities == 0 {
		return o.Script.Users(w, rs, t)
	}
	e := &Entities{
		w: w, world: o, opt: o.Delivered, trace: t, rng: rs.Stream("delivered load", 0),
		rngHandlers: rs.Stream("delivered handlers", 0), judge: NewJudge(w.Violate), producers: map[uint64]*producer{},
		handled: map[Note]int{},
	}
	e.queues = NewQueues(o.Delivered.Queue, w, rs.Stream("delivered queues", 0), e.judge)
	w.After(3*time.Second, nil, e.send)
	return e
}

var _ workload.Workload = (*Entities)(nil)

// Start starts the type on a process, and a producer.
func (e *Entities) Start(p Process) {
	h := p.Host()
	_, err := h.Data(options.Backend)
	t, consumes := delivery.Consume(e.define(p), delivery.ConsumerConfig{
		Window: e.opt.Window, BufferMax: e.opt.BufferMax,
	})
	if consumes != nil {
		e.w.Violate("delivered", "%v does not consume: %v", p, consumes)
		return
	}
	x := &producer{id: p.String()}
	if x.region, err = sharding.StartAt(h, t, err != nil); err == nil {
		delivery.Watch(x.region, func(s delivery.Step) { e.judge.Stepped(s) })
		x.of, err = delivery.NewProducer(x.region, e.configure(x, p))
	}
	if err != nil {
		e.w.Violate("delivered", "%v does not start: %v", p, err)
		return
	}
	e.producers[p.UID()] = x
}

// configure is the configuration of a producer. One that has a queue is known by its slot. One without
// is another one after a restart: clocks of one slot go back, so that a later one would be taken for
// the earlier.
func (e *Entities) configure(x *producer, p Process) delivery.Config {
	c := delivery.Config{
		BufferMax: e.opt.Unconfirmed, ResendFirst: e.opt.ResendFirst, CleanupUnusedAfter: e.opt.Cleanup,
		ChannelsMax: e.opt.ChannelsMax,
	}
	if p.Slot()%2 == 0 && e.opt.Queued {
		x.id = fmt.Sprintf("n%d", p.Slot())
		c.Queue = e.queues.Of(x.id, p)
	}
	c.ID = x.id
	return c
}

// define makes the type.
func (e *Entities) define(p Process) sharding.EntityType[Note] {
	o := &e.opt
	id := sharding.Identity{Name: Type, Role: options.Backend, Shards: o.Shards}
	t := persisted.TypeOf[Note](e.world, id, o.Directive, o.IdleTimeout)
	t.Messages = sharding.CBOR[Note](Note(0))
	t.New = func(*Context) sharding.Entity[Note] { return &entity{e: e, p: p, last: map[string]delivery.RowKey{}} }
	return t
}

// entity is one of them, on a process.
type entity struct {
	e    *Entities
	p    Process
	last map[string]delivery.RowKey // by producer: handled last by this incarnation; only looked up
}

var _ delivery.Receiver[Note] = (*entity)(nil)

// Receive implements sharding.Entity. Nothing is told or asked here.
func (x *entity) Receive(_ *Context, n Note) error {
	x.e.w.Violate("delivered", "%v gets %d without a delivery", x.p, n)
	return nil
}

// Deliver implements delivery.Receiver.
func (x *entity) Deliver(_ *Context, d *delivery.Delivery[Note]) error {
	e := x.e
	last := x.last[d.Producer]
	if order := d.Session.Compare(last.Session); order < 0 || order == 0 && d.Seq <= last.Seq {
		e.w.Violate("an incarnation handles a delivery once", "%v gets %v #%d of %s, and has handled %v #%d",
			x.p, d.Session, d.Seq, d.Producer, last.Session, last.Seq)
	}
	if took := time.Duration(e.rngHandlers.ExpFloat64() * float64(e.opt.Takes)); took > 0 {
		x.p.Sleep(took)
	}
	if !e.w.Healed() {
		switch f := e.rngHandlers.Float64(); {
		case f < e.opt.Refuses/2:
			return errFails
		case f < e.opt.Refuses:
			panic("a handler that panics")
		}
	}
	if random.Chance(e.rngHandlers, e.opt.Later) {
		x.later(d)
		return nil
	}
	x.handle(d)
	return nil
}

// later has a delivery confirmed beside its handler, or rejected.
func (x *entity) later(d *delivery.Delivery[Note]) {
	e := x.e
	c, rejects := d.Later(), !e.w.Healed() && e.rngHandlers.IntN(4) == 0
	after := time.Duration(random.Between(e.rngHandlers, 1, int64(e.opt.LaterMost)))
	x.p.Go(func() {
		x.p.Sleep(after)
		if rejects {
			e.counts.Rejected++
			_ = c.Reject() // what is not heard of is given up with the incarnation
			return
		}
		e.counts.Later++
		x.handle(d)
		for c.Confirm() != nil && x.p.Alive() {
			x.p.Sleep(time.Second)
		}
	})
}

// handle is the effect of a handler.
func (x *entity) handle(d *delivery.Delivery[Note]) {
	x.last[d.Producer] = delivery.RowKey{Session: d.Session, Seq: d.Seq}
	x.e.handled[d.Message]++
}
