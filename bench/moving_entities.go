package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/protocol"
)

const (
	wandererIDs   = 3 * moveShards
	wandererBurst = 25 // messages of one sender, after which it rests
	wandererRest  = time.Millisecond
)

// Numbered is told: the Nth of Sender to this entity.
type Numbered struct {
	Sender int
	N      uint64
}

func (Numbered) message() {}

// movingEntities are the entities of shards that move, and what is known of them, wherever they
// are.
type movingEntities struct {
	ids    []string
	shards []wandering

	handled, reordered, aborted atomic.Int64
	sendingFor                  time.Duration
}

// wandering is one shard.
type wandering struct {
	mu     sync.Mutex
	node   int                             // where its last message was handled
	at     time.Time                       // when
	gap    time.Duration                   // the longest between two messages that were handled on one node
	pauses []time.Duration                 // between the last that was handled on one node and the first on another
	last   map[string]*[moveSenders]uint64 // the last number of each sender to each entity
}

func newWanderers() *movingEntities {
	w := &movingEntities{ids: make([]string, wandererIDs), shards: make([]wandering, moveShards)}
	for s := range w.shards {
		w.shards[s].node, w.shards[s].last = -1, map[string]*[moveSenders]uint64{}
	}
	for i := range w.ids {
		w.ids[i] = "wanderer-" + strconv.Itoa(i)
	}
	for s, left := 0, moveShards; left > 0; s++ { // one at least of each shard
		id := "of-each-" + strconv.Itoa(s)
		if at := sharding.ShardOf(id, moveShards); len(w.shards[at].last) == 0 {
			w.shards[at].last[id] = new([moveSenders]uint64)
			w.ids = append(w.ids, id)
			left--
		}
	}
	for _, id := range w.ids {
		w.shards[sharding.ShardOf(id, moveShards)].last[id] = new([moveSenders]uint64)
	}
	return w
}

// start starts the type on a node; the last one hosts nothing.
func (w *movingEntities) start(n *ddata.Node, node int) (*sharding.Region[Message], error) {
	t := sharding.EntityType[Message]{
		Identity:   sharding.Identity{Name: "Wanderer", Role: role, Shards: moveShards},
		Allocation: sharding.Allocation{Strategy: allocation.External{}},
		Messages:   sharding.CBOR[Message](Numbered{}, Query{}),
		New: func(c *sharding.Context[Message]) sharding.Entity[Message] {
			return &movingEntity{w: w, shard: &w.shards[c.Shard()], id: c.ID(), node: node}
		},
		OnEvent: func(e events.Event) {
			if e, ok := e.(sharding.Event); ok && e.What.Kind == protocol.HandOffAborted {
				w.aborted.Add(1)
			}
		},
	}
	if node < moveHosts {
		return sharding.Start(n, t)
	}
	return sharding.StartProxy(n, t)
}

// movingEntity is one incarnation of an entity.
type movingEntity struct {
	w     *movingEntities
	shard *wandering
	id    string
	node  int
}

// Receive implements sharding.Entity.
func (e *movingEntity) Receive(c *sharding.Context[Message], msg Message) error {
	switch m := msg.(type) {
	case Numbered:
		if !e.shard.handle(e.node, e.id, m) {
			e.w.reordered.Add(1)
		}
		e.w.handled.Add(1)
	case Query:
		return c.Reply(m.N)
	}
	return nil
}

// handle notes a message; false: it is not the next one of its sender.
func (s *wandering) handle(node int, id string, m Numbered) (next bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.node == node {
		s.gap = max(s.gap, now.Sub(s.at))
	} else if s.node >= 0 {
		s.pauses = append(s.pauses, now.Sub(s.at))
	}
	s.node, s.at = node, now
	last := &s.last[id][m.Sender]
	next = m.N == *last+1
	*last = m.N
	return next
}

// send tells all entities, again and again, from all regions until ctx ends; the result waits for
// that and says how many messages were told.
func (w *movingEntities) send(ctx context.Context, regions []*sharding.Region[Message]) (told func() (uint64, error)) {
	var (
		wg   sync.WaitGroup
		sent = make([]uint64, len(regions))
		errs = make([]error, len(regions))
	)
	began := time.Now()
	for s, g := range regions {
		wg.Go(func() { sent[s], errs[s] = w.sendFrom(ctx, s, g) })
	}
	return func() (sum uint64, err error) {
		wg.Wait()
		w.sendingFor = time.Since(began)
		for _, n := range sent {
			sum += n
		}
		return sum, errors.Join(errs...)
	}
}

func (w *movingEntities) sendFrom(ctx context.Context, sender int,
	g *sharding.Region[Message]) (sent uint64, err error) {
	rest := time.NewTicker(wandererRest)
	defer rest.Stop()
	for n := uint64(1); ; n++ {
		for i, id := range w.ids {
			if err := g.Tell(context.WithoutCancel(ctx), id, Numbered{sender, n}); err != nil {
				return sent, err
			}
			if sent++; i%wandererBurst > 0 {
				continue
			}
			select {
			case <-rest.C:
			case <-ctx.Done():
				return sent, nil
			}
		}
	}
}

// settle returns when all that was told from the regions has been handled.
func (w *movingEntities) settle(ctx context.Context, regions []*sharding.Region[Message]) error {
	for _, g := range regions {
		for _, id := range w.ids {
			if _, err := sharding.Ask(ctx, g.Ref(id), Query{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// arrived waits until messages of the shards were handled where the turn puts them.
func (w *movingEntities) arrived(ctx context.Context, shards []int, turn int) error {
	ctx, cancel := context.WithTimeout(ctx, moveLimit)
	defer cancel()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for _, n := range shards {
		s := &w.shards[n]
		for s.where() != (n+turn)%moveHosts {
			select {
			case <-look.C:
			case <-ctx.Done():
				return fmt.Errorf("shard %d is on node %d and not on %d: %w",
					n, s.where(), (n+turn)%moveHosts, ctx.Err())
			}
		}
	}
	return nil
}

func (s *wandering) where() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.node
}

// begin forgets the pauses so far.
func (w *movingEntities) begin() {
	for i := range w.shards {
		s := &w.shards[i]
		s.mu.Lock()
		s.pauses, s.gap = nil, 0
		s.mu.Unlock()
	}
}

// gaps waits for d and returns how long a shard handled nothing between two messages: on average,
// and at most.
func (w *movingEntities) gaps(ctx context.Context, d time.Duration) (average, longest time.Duration, err error) {
	w.begin()
	before, began := w.handled.Load(), time.Now()
	if err := measure.Pass(ctx, d); err != nil {
		return 0, 0, err
	}
	average = time.Since(began) * moveShards / time.Duration(max(1, w.handled.Load()-before))
	for i := range w.shards {
		s := &w.shards[i]
		s.mu.Lock()
		longest = max(longest, s.gap)
		s.mu.Unlock()
	}
	return average, longest, nil
}

// pauses are those of all moves, sorted.
func (w *movingEntities) pauses() (all []time.Duration) {
	for i := range w.shards {
		s := &w.shards[i]
		s.mu.Lock()
		all = append(all, s.pauses...)
		s.mu.Unlock()
	}
	slices.Sort(all)
	return all
}

// droppedBy is how many messages the regions have dropped in all.
func droppedBy(regions []*sharding.Region[Message]) (n uint64) {
	for _, g := range regions {
		for _, d := range g.Stats().Drops {
			n += d.Count
		}
	}
	return n
}
