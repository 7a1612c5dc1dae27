package shardingtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Kit is an entity type under test on a Node. The entities that the test names, by Ask, Tell or Include,
// are made by the type's New. What they send to other ids of the type reaches none: Others keeps it.
type Kit[M any] struct {
	*Node
	typ    sharding.EntityType[M]
	region *sharding.Region[M]
	others *Others[M]

	mu       sync.Mutex
	included map[string]bool
	starts   map[string][]sharding.FencingToken // of the incarnations of an entity
	stops    map[string]int                     // of these, those that ended in order
	failures []sharding.Failure
	drops    []sharding.Drop
}

// New starts a type on a node of its own.
func New[M any](t TB, typ sharding.EntityType[M]) *Kit[M] {
	t.Helper()
	return On(NewNode(t, typ.Role), typ)
}

// On starts a type on a node.
func On[M any](n *Node, typ sharding.EntityType[M]) *Kit[M] {
	n.t.Helper()
	k := &Kit[M]{
		Node: n, included: map[string]bool{}, starts: map[string][]sharding.FencingToken{},
		stops: map[string]int{}, others: &Others[M]{n: n, name: typ.Name},
	}
	k.typ = k.heard(typ)
	n.start(func() (err error) {
		k.region, err = startOn(n, k.typ)
		k.others.region = k.region
		return err
	})
	return k
}

// startOn starts a type on the host.
func startOn[M any](n *Node, typ sharding.EntityType[M]) (*sharding.Region[M], error) {
	h := n.host.Host()
	if !slices.Contains(h.Self.Roles, typ.Role) {
		return nil, fmt.Errorf("%w: %q", errRole, typ.Role)
	}
	if _, virtual := n.time.(*virtual); virtual {
		typ.Timeouts.HandlerSlow = -1 // it looks at the goroutines of the real process
	}
	if typ.Coordination.RetryInterval == 0 && typ.HandOff.BeginTimeout == 0 {
		// No other node has to be asked again. A coordinator that looks twice a second makes days long.
		typ.Coordination.RetryInterval, typ.HandOff.BeginTimeout = retryInterval, retryInterval
	}
	return sharding.StartAt(h, typ, false)
}

// retryInterval is how often what was not answered is repeated. Stores of remembered ids are among that.
const retryInterval = time.Minute

// heard is the type, of which the kit hears.
func (k *Kit[M]) heard(typ sharding.EntityType[M]) sharding.EntityType[M] {
	make, hear := typ.New, typ.OnEvent
	if make != nil {
		typ.New = func(c *sharding.Context[M]) sharding.Entity[M] {
			if !k.includes(c.ID()) {
				return other[M]{k.others}
			}
			k.begins(c)
			return Watch(make(c), k.handles, k.stopped)
		}
	}
	typ.OnEvent = func(e events.Event) {
		k.hears(e)
		if hear != nil {
			hear(e)
		}
	}
	return typ
}

func (k *Kit[M]) includes(id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.included[id]
}

// begins notes an incarnation.
func (k *Kit[M]) begins(c *sharding.Context[M]) {
	token, err := c.Fence()
	if err != nil {
		token = sharding.FencingToken{}
	}
	k.mu.Lock()
	k.starts[c.ID()] = append(k.starts[c.ID()], token)
	k.mu.Unlock()
	k.note(c.ID(), "starts under token %v", token)
}

// handles notes a message.
func (k *Kit[M]) handles(c *sharding.Context[M], msg M) { k.note(c.ID(), "handles %s", shown(msg)) }

// stopped notes the end of an incarnation, in order.
func (k *Kit[M]) stopped(c *sharding.Context[M]) {
	k.mu.Lock()
	k.stops[c.ID()]++
	k.mu.Unlock()
	k.note(c.ID(), "stops")
}

// hears notes what happens to the type.
func (k *Kit[M]) hears(e events.Event) {
	switch e := e.(type) {
	case sharding.Failure:
		k.note(e.ID, "failed: %v: %v", e.Err, e.Directive)
		k.mu.Lock()
		k.failures = append(k.failures, e)
		k.mu.Unlock()
	case sharding.Drop:
		k.note(e.ID, "a message is lost: %v", e)
		k.mu.Lock()
		k.drops = append(k.drops, e)
		k.mu.Unlock()
	case sharding.Event:
		if e.What.Alarm() {
			k.note("", "alarm: %v", e.What)
		}
	}
}

// Include has entities be made by the type's New, although no call of the test names them: messages of
// others reach them. One that stands in for such an entity ends.
func (k *Kit[M]) Include(ids ...string) {
	k.t.Helper()
	for _, id := range ids {
		k.mu.Lock()
		before := k.included[id]
		k.included[id] = true
		k.mu.Unlock()
		if !before && k.Active(id) {
			k.Do(func() { _ = k.region.Passivate(context.Background(), id) })
		}
	}
}

// Tell tells an entity, and returns when everything has happened that can happen without time. Its
// error says that the message was not accepted.
func (k *Kit[M]) Tell(id string, msg M) (err error) {
	k.t.Helper()
	k.Include(id)
	k.note(id, "is told %s", shown(msg))
	k.Do(func() { err = k.region.Tell(context.Background(), id, msg) })
	return err
}

// Passivate asks for the end of an entity's incarnation.
func (k *Kit[M]) Passivate(id string) (err error) {
	k.t.Helper()
	k.note(id, "is asked to go")
	k.Do(func() { err = k.region.Passivate(context.Background(), id) })
	return err
}

// Move hands all shards over, as to another node, and has them start anew: entities are stopped in
// order, and the next message makes them again, under a higher token.
func (k *Kit[M]) Move() {
	k.t.Helper()
	k.note(k.typ.Name, "moves")
	k.run(func() {
		k.t.Helper()
		var err error
		k.time.do(func() {
			ctx, cancel := k.time.WithTimeout(context.Background(), moveTimeout)
			defer cancel()
			if err = k.region.Close(ctx); ctx.Err() != nil {
				err = errors.Join(err, context.Cause(ctx))
			}
		})
		if err != nil {
			k.t.Errorf("shardingtest: not all entities stopped in %v: %v", moveTimeout, err)
		}
		k.startOnce(func() (err error) {
			k.region, err = startOn(k.Node, k.typ)
			k.others.region = k.region
			return err
		})
	})
}

// moveTimeout is how long entities have to stop, by the clock of the node.
const moveTimeout = 5 * time.Minute

// Region is the type's on the node, until the next Restart or Move. Call what waits by Do.
func (k *Kit[M]) Region() *sharding.Region[M] { return k.region }

// Others has what was sent to entities of the type that are not under test.
func (k *Kit[M]) Others() *Others[M] { return k.others }

// Active reports whether an entity runs.
func (k *Kit[M]) Active(id string) bool { return k.region.ExplainPassivation(id).Active }

// Passivations are those of an entity since the last Restart or Move, the first one first.
func (k *Kit[M]) Passivations(id string) []sharding.Passivated {
	all := k.region.ExplainPassivation(id).Last
	slices.Reverse(all)
	return all
}

// Incarnations counts how often New was called for an entity.
func (k *Kit[M]) Incarnations(id string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.starts[id])
}

// Stops counts how many incarnations of an entity have ended in order: they were passivated, or have moved.
func (k *Kit[M]) Stops(id string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.stops[id]
}

// Failures are the handlers that have failed, with what Supervision has decided, in order.
func (k *Kit[M]) Failures() []sharding.Failure {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.failures)
}

// Drops are the messages that were lost, in order.
func (k *Kit[M]) Drops() []sharding.Drop {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.drops)
}

// Fence is the fencing token of the latest incarnation of an entity; zero: there was none.
func (k *Kit[M]) Fence(id string) sharding.FencingToken {
	k.mu.Lock()
	defer k.mu.Unlock()
	if all := k.starts[id]; len(all) > 0 {
		return all[len(all)-1]
	}
	return sharding.FencingToken{}
}

// NewerFence is a token above Fence, as another node would have it that has taken the shard over.
func (k *Kit[M]) NewerFence(id string) sharding.FencingToken {
	token := k.Fence(id)
	token.Epoch++
	return token
}

// Depose has a store see that another node has taken over the shard of an entity: it refuses what this
// node writes from now on. Other stores can be given NewerFence.
func (k *Kit[M]) Depose(store persistence.Fencer, id string) {
	k.t.Helper()
	newer := k.NewerFence(id)
	k.note(id, "another node takes its shard over, under token %v", newer)
	err := store.Fence(context.Background(), persistence.Hosting{
		Type: k.typ.Name, Shard: protocol.ShardID(k.region.ShardOf(id)), Token: newer,
	})
	if err != nil {
		k.t.Errorf("shardingtest: the store takes no newer token: %v", err)
	}
}

// Box keeps what entities post to a box of this node, from now on until the next Restart or Move
// (sharding.Context.Post).
func (k *Kit[M]) Box(name string) *Box {
	k.t.Helper()
	b := &Box{}
	_, err := k.region.HandleRaw(name, func(_ view.UID, body []byte) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.posts = append(b.posts, slices.Clone(body))
	})
	if err != nil {
		k.t.Fatalf("shardingtest: %v", err)
	}
	return b
}

// Box is a box of a node.
type Box struct {
	mu    sync.Mutex
	posts [][]byte
}

// Posts are what was posted, in order.
func (b *Box) Posts() [][]byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.posts)
}
