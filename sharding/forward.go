package sharding

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/ddata/tracing"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/dataplane/spans"
	"github.com/coterie-go/coterie/sharding/failure"
)

// Protocols that stand on entities, such as package sharding/delivery, speak in bytes that are no
// messages of the type: Region.SendRaw takes them to an entity, whatever its M, along the way of
// its messages; Context.Post takes answers to a box of a node's region. Both are at most once and
// never wait.

// Carrier is implemented by entities that take what Region.SendRaw brings: one call at a time and
// in line with Receive, whose rules hold for it too. body belongs to the callee. What comes for an
// entity that is no Carrier is dropped with DropUnregistered.
type Carrier[M any] interface {
	Carried(c *Context[M], body []byte) error
}

// Undecodable is returned by a Carrier that cannot read what it was brought: that is a counted
// drop, and no failure of the entity.
type Undecodable struct{ Cause error }

func (u Undecodable) Error() string { return "sharding: undecodable: " + u.Cause.Error() }

// Unwrap is the cause.
func (u Undecodable) Unwrap() error { return u.Cause }

const boxMax = 128

// ErrBox: the name of a box is empty, too long, or in use on this region.
var ErrBox = errors.New("sharding: box")

// SendRaw sends bytes to an entity that is a Carrier, in order with what this goroutine tells it.
// It never waits. body must not be changed afterwards.
//
// Errors: ErrInvalidID, ErrMessageTooLarge, ErrBufferFull, ErrStopped.
func (g *Region[M]) SendRaw(id string, body []byte) error {
	return g.plane.Send(entities.InHandler, id, mailbox.Envelope{Msg: codec.Raw{Body: body}})
}

// CheckID says what is wrong with an entity id, as ErrInvalidID; nil: nothing.
func CheckID(id string) error { return dataplane.CheckID(id) }

// UID is the node's.
func (g *Region[M]) UID() view.UID { return view.UID(g.plane.Self) }

// Messages is the codec of the type.
func (g *Region[M]) Messages() Codec[M] { return Codec[M]{reg: g.plane.Registry} }

// SchedulerOf is the time of a region's node, and runs what a protocol that stands on the region does
// beside its callers.
func SchedulerOf[M any](g *Region[M]) scheduler.Scheduler { return g.plane.Scheduler }

// SpansOf are those of a region; nil: nothing is traced.
func SpansOf[M any](g *Region[M]) *spans.Spans { return g.plane.Entities.Spans }

// BeginSpan begins a span below that of a header, which may be nil, and has what the handler at hand does
// from now on belong to it. It ends with the message at hand, or with the next BeginSpan. It is for
// protocols that stand on entities, whose messages are none of the type, and for the handler's goroutine.
// Nil: nothing is traced.
func BeginSpan[M any](c *Context[M], op spans.Op, header []byte, msg any) tracing.Span {
	s := SpansOf(c.r)
	if s == nil {
		return nil
	}
	return entities.BeginSpan(s, c.handler.Entity, op, header, msg)
}

// HeaderOf is the header with which bytes that are sent under ctx belong to its trace, if all members
// read those; nil: they go without one.
func HeaderOf[M any](ctx context.Context, g *Region[M]) []byte {
	if s := SpansOf(g); s != nil && g.plane.Out.SendsHeaders() {
		return s.Of(ctx)
	}
	return nil
}

// Stopped is closed when the region has stopped.
func (g *Region[M]) Stopped() <-chan struct{} { return g.plane.Users.Closed() }

// HandleRaw has fn called with what entities of the type post to a box of this node, perhaps by
// several goroutines at a time; it must be quick, and must not keep body. A name is 1 to 128 bytes
// and in use once per region.
func (g *Region[M]) HandleRaw(name string, fn func(from view.UID, body []byte)) (cancel func(), err error) {
	if name == "" || len(name) > boxMax {
		return nil, fmt.Errorf("%w: its name has %d bytes, want 1 to %d", ErrBox, len(name), boxMax)
	}
	if _, used := g.plane.Attached.Boxes.LoadOrStore(name, fn); used {
		return nil, fmt.Errorf("%w: %q is in use on this region", ErrBox, name)
	}
	return sync.OnceFunc(func() { g.plane.Attached.Boxes.Delete(name) }), nil
}

// ShardOf is the shard of an entity id.
func (g *Region[M]) ShardOf(id string) ShardID { return ShardID(g.plane.Routes.ShardOf(id)) }

// WatchMoves yields each shard, from the call on, when what was under way to it may be gone: when the
// node that was its home is removed, and when it has a home again, the same or another. The first
// home that the region learns of is no move. It yields a shard once if that moves several times
// between two looks. The last error is ErrStopped, or ctx's. What it returns is for one loop, which
// must run.
func (g *Region[M]) WatchMoves(ctx context.Context) iter.Seq2[ShardID, error] {
	m := &moves{wake: make(chan struct{}, 1), shards: map[ShardID]struct{}{}}
	cancel := g.plane.Attached.Movers.Add(m.tell)
	return func(yield func(ShardID, error) bool) {
		defer cancel()
		for {
			switch g.plane.Scheduler.Await(m.wake, g.plane.Users.Closed(), ctx.Done()) {
			case 1:
				yield(0, g.plane.Users.Err())
				return
			case 2:
				yield(0, context.Cause(ctx))
				return
			}
			for _, s := range m.take() {
				if !yield(s, nil) {
					return
				}
			}
		}
	}
}

// moves are those that a loop of WatchMoves has not seen yet.
type moves struct {
	wake   chan struct{}
	mu     sync.Mutex
	shards map[ShardID]struct{}
}

// tell never waits.
func (m *moves) tell(s ShardID) {
	m.mu.Lock()
	m.shards[s] = struct{}{}
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// take empties it, in the order of the shards.
func (m *moves) take() []ShardID {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := slices.Sorted(maps.Keys(m.shards))
	clear(m.shards)
	return all
}

// WhenUnhosted has fn called with the shard and the token (Context.Fence) of each hosting on this node
// that is over, whether its shard has stopped in order or not. Its entities take no more messages; a
// handler may still run if it was not in order. fn is called in the region's line of work: it must be
// quick.
func (g *Region[M]) WhenUnhosted(fn func(ShardID, FencingToken)) (cancel func()) {
	return g.plane.Attached.Enders.Add(func(s *entities.Shard) { fn(ShardID(s.Number), s.Fence()) })
}

// Meter returns the node's Meter, nil if there is none: histograms of a protocol that stands on the
// region go there. ReadMetrics is for the other metrics, which end with the region.
func (g *Region[M]) Meter() events.Meter { return g.plane.Attached.Meter }

// ReadMetrics has read called whenever the node's Meter is read, as events.Meter says of Read, until
// the region has stopped. Its metrics should have the type among their labels.
func (g *Region[M]) ReadMetrics(read func(report func(*events.Metric, float64, ...string))) (cancel func()) {
	key := new(byte)
	g.plane.Attached.Reports.Store(key, read)
	return func() { g.plane.Attached.Reports.Delete(key) }
}

// Emit hands an event of a protocol that stands on the region to the node's listeners and log.
func (g *Region[M]) Emit(e events.Event) { g.run.control.Notices.Tell(e) }

// Attach is what a protocol keeps for all entities of a region under a key of its own: the first
// call makes it, and it lives as long as the region.
func (g *Region[M]) Attach(key any, make func() any) any {
	once, ok := g.plane.Attached.Kept.Load(key)
	if !ok {
		once, _ = g.plane.Attached.Kept.LoadOrStore(key, sync.OnceValue(make))
	}
	return once.(func() any)()
}

// Post sends bytes to a box of the type's region on a node. It never waits, and like every effect
// needs the lease.
func (c *Context[M]) Post(to view.UID, box string, body []byte) error {
	r := c.r.plane
	if err := c.handler.Refused(); err != nil {
		return err
	}
	if uint64(to) == r.Self {
		r.Attached.Posted(to, box, body)
		return nil
	}
	return r.Out.Post(uint64(to), box, body)
}

// carry hands what was carried to the user's entity.
func (c *Context[M]) carry(body []byte) error {
	k, ok := c.user.(Carrier[M])
	if !ok {
		c.r.plane.Drops.Drop(DropUnregistered, c.Shard(), c.handler.Entity.ID, nil)
		return nil
	}
	return c.dropUndecodable(k.Carried(c, body))
}

// dropUndecodable counts what could not be read as a drop, which is no failure.
func (c *Context[M]) dropUndecodable(err error) error {
	if u, bad := err.(Undecodable); bad {
		c.r.plane.Drops.Drop(failure.DropOf(u.Cause), c.Shard(), c.handler.Entity.ID, nil)
		return nil
	}
	return err
}
