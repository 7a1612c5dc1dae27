package batch

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/batch/calls"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Client stands between the entities of one region and a store. Its methods may be called from any
// goroutine, and do not wait, except for Close.
//
// Each done is called once, on a goroutine of the client. It must not wait. It may call the client.
// An each is called as the port says, and never after done. What a write refers to is the client's until
// done; if that says ErrGaveUp, ErrEnded or ErrClosed, a call may be under way that reads it, so it must
// not be changed at all.
type Client struct {
	cfg    Config
	fences []persistence.Fencer // by the number of the store
	loop   runloop.Loop[calls.Input]
	work   *scheduler.Group // the calls under way
	ctx    context.Context  // of all calls
	cancel context.CancelFunc
	ids    atomic.Uint64 // of writes; see New
	panics atomic.Uint64 // of stores

	pending pendings
	end     sync.Once
	ended   chan struct{} // closed when the machine has ended everything

	// The loop's.
	m         *calls.Machine
	open      []request // those that are not answered
	meters    meters
	conflicts uint64 // requests that ended with ErrConflict

	broken atomic.Pointer[error] // nil: it is not

	mu            sync.Mutex
	stats         calls.Stats // as of the last flush
	conflictsRead uint64      // conflicts, as of then
}

// inboxMax has no effect: everything is forced into the loop, and the machine bounds what it holds.
const inboxMax = 1 << 16

// New makes a Client of a valid configuration, and starts it.
func New(cfg Config) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg.withDefaults(), ended: make(chan struct{})}
	fences, ports := cfg.number()
	c.fences = fences
	c.m = calls.New(cfg.Settings, ports)
	c.pending.describe(&c.cfg, ports)
	c.meters = meters{meter: cfg.Meter, name: cfg.Name}
	c.work = scheduler.NewGroup(c.cfg.Scheduler)
	c.ctx, c.cancel = context.WithCancel(context.Background())
	// A process that hosts a shard again under the same token must not use an ID of its predecessor.
	// The numbers go on from a random place. They stay below 2^63, for stores without unsigned ones.
	c.ids.Store(c.cfg.Scheduler.Uint64() >> 2)
	c.loop = runloop.New[calls.Input](c.cfg.Scheduler, &machine{c}, inboxMax)
	c.loop.WhenBroken(c.breaks)
	c.loop.Start()
	if cfg.Stopped != nil {
		c.cfg.Scheduler.Go(c.awaitStop)
	}
	return c, nil
}

// awaitStop closes the client with its region. A call that hangs keeps nothing else waiting.
func (c *Client) awaitStop() {
	if c.cfg.Scheduler.Await(c.cfg.Stopped, c.ended, nil) == 0 {
		c.shut()
		c.settle()
	}
}

// Append appends a write to the history of its entity. The client sets its ID. Writes
// of an entity take effect in the order of their calls.
func (c *Client) Append(h persistence.Hosting, w persistence.Write, done func(error)) {
	w.ID = c.ids.Add(1)
	r := &write{write: w, done: done}
	r.op.Events = len(w.Events)
	c.submit(&r.op, h, calls.Append, w.Entity, sizeOf(w.Events), r)
}

// Delete forgets events of an entity. See persistence.Journal.
func (c *Client) Delete(h persistence.Hosting, id protocol.EntityID, upTo uint64, done func(error)) {
	c.delete(h, calls.Delete, id, upTo, done)
}

// Load calls each for the events that the read asks for, and done after the last. A load that is
// repeated goes on after the last event that each was called for. An error of each ends it.
func (c *Client) Load(h persistence.Hosting, r persistence.Read, each func(persistence.Event) error,
	done func(persistence.End, error),
) {
	l := &load[persistence.Event]{id: r.Entity, after: r.After, each: each}
	l.done = func(err error) { done(l.end, err) }
	c.submit(&l.op, h, calls.Load, r.Entity, 0, l)
}

// SaveSnapshot stores a snapshot.
func (c *Client) SaveSnapshot(h persistence.Hosting, s persistence.Snapshot, done func(error)) {
	r := &snapshot{snapshot: s, done: done}
	c.submit(&r.op, h, calls.SaveSnapshot, s.Entity, overhead+len(s.Body), r)
}

// LoadSnapshot calls each for the newest snapshot that the read asks for, if there is one.
func (c *Client) LoadSnapshot(h persistence.Hosting, r persistence.SnapshotRead,
	each func(persistence.Snapshot) error, done func(error),
) {
	l := &load[persistence.Snapshot]{id: r.Entity, after: r.Below, each: each, done: done}
	c.submit(&l.op, h, calls.LoadSnapshot, r.Entity, 0, l)
}

// DeleteSnapshots forgets snapshots of an entity. See persistence.Snapshots.
func (c *Client) DeleteSnapshots(h persistence.Hosting, id protocol.EntityID, upTo uint64, done func(error)) {
	c.delete(h, calls.DeleteSnapshots, id, upTo, done)
}

// SaveState replaces the value of an entity. The client sets the ID of the write. Writes
// of an entity take effect in the order of their calls.
func (c *Client) SaveState(h persistence.Hosting, w persistence.StateWrite, done func(error)) {
	w.ID = c.ids.Add(1)
	r := &stateWrite{write: w, done: done}
	c.submit(&r.op, h, calls.SaveState, w.Entity, overhead+len(w.State.Body), r)
}

// LoadState calls each for the value of an entity, if it ever had one.
func (c *Client) LoadState(h persistence.Hosting, id protocol.EntityID, each func(persistence.State) error,
	done func(error),
) {
	l := &load[persistence.State]{id: id, each: each, done: done}
	c.submit(&l.op, h, calls.LoadState, id, 0, l)
}

// End ends a hosting. What waits, and what is asked for later, gets ErrEnded, as do all hostings of
// the shard with lower tokens. What is under way ends as it ends, and is not repeated.
func (c *Client) End(h persistence.Hosting) { c.loop.Force(calls.End{Hosting: hostingOf(h)}) }

// Close ends the client. All that is not done gets ErrClosed. Close waits until the calls of the
// store have returned, or ctx has ended, which is its error then.
func (c *Client) Close(ctx context.Context) error {
	c.shut()
	var err error
	if c.cfg.Scheduler.Await(c.work.Over(), ctx.Done(), nil) == 1 {
		err = fmt.Errorf("persistence: close the client of type %q: %w", c.cfg.Name, ctx.Err())
	}
	c.settle()
	return err
}

// shut has the machine end everything, and returns when it has.
func (c *Client) shut() {
	c.end.Do(func() {
		c.loop.Force(calls.Close{})
		c.cancel()
	})
	c.cfg.Scheduler.Await(c.ended, nil, nil)
}

// settle stops the loop, and answers what came too late for it.
func (c *Client) settle() {
	c.loop.Stop()
	for _, in := range c.loop.Rest() {
		if s, ok := in.(calls.Submit); ok {
			c.refuse(s.Op)
		}
	}
}

func (c *Client) delete(h persistence.Hosting, k calls.Kind, id protocol.EntityID, upTo uint64, done func(error)) {
	r := &deletion{id: id, upTo: upTo, done: done}
	c.submit(&r.op, h, k, id, 0, r)
}

// submit hands something to the machine.
func (c *Client) submit(o *calls.Op, h persistence.Hosting, k calls.Kind, id protocol.EntityID, bytes int,
	r request,
) {
	o.Hosting, o.Kind, o.Entity, o.Bytes, o.Value = hostingOf(h), k, id, bytes, r
	if !c.loop.Force(calls.Submit{Op: o}) {
		c.refuse(o)
	}
}

// refuse ends what comes after Close, or when the client is broken.
func (c *Client) refuse(o *calls.Op) {
	c.cfg.Scheduler.Go(func() { o.Value.(request).finish(c.refusal()) })
}

func hostingOf(h persistence.Hosting) calls.Hosting {
	return calls.Hosting{Shard: h.Shard, Token: h.Token}
}

// overhead is about what an event, a snapshot or a state takes beside its body.
const overhead = 64

func sizeOf(events []persistence.Event) int {
	n := 0
	for i := range events {
		n += overhead + len(events[i].Name) + len(events[i].Body)
		for _, t := range events[i].Tags {
			n += len(t)
		}
	}
	return n
}
