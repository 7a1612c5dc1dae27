package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// A witness process may send numbered messages, in one of two ways: by questions to the witnesses,
// each of which waits for its answer, or by a stream of messages to entities of a type of their
// own, whose shards live where the test says.

const (
	askers        = 4    // of one process
	numbersShards = 6    // one entity in each
	numbersTold   = 3334 // messages of one process to one entity, at least: three processes send ten thousand
	numbersMore   = 200
)

// numbered is a message of one sender to one entity, which answers with the number of its line.
type numbered struct {
	sharding.Returns[Command, uint64]
	From string
	N    uint64
}

func (numbered) command() {}

// numbersID is an entity of each shard.
var numbersID = func() (ids [numbersShards]string) {
	for i := 0; slices.Contains(ids[:], ""); i++ {
		id := fmt.Sprint("number-", i)
		ids[sharding.ShardOf(id, numbersShards)] = id
	}
	return ids
}()

// numbersLoad is what a process sends.
type numbersLoad struct {
	region *sharding.Region[Command] // of the type whose shards move
	stop   chan struct{}             // closed: enough
	wg     sync.WaitGroup
	acked  atomic.Int64
	more   chan struct{} // has room for one: something was acknowledged

	mu    sync.Mutex
	moved chan struct{} // closed and replaced with every move
	at    map[sharding.ShardID]view.UID
}

// doNumbers answers the requests about numbered messages.
func (w *witnessNode) doNumbers(ctx context.Context, do string) error {
	l := &w.load
	switch verb, word, _ := strings.Cut(do, " "); verb {
	case "ask":
		l.begin()
		for i := range askers {
			l.wg.Go(func() { w.askNumbers(sender(i)) })
		}
		return nil
	case "more": // waits until so many more were answered
		for goal := l.acked.Load() + numbersMore; l.acked.Load() < goal; {
			select {
			case <-l.more:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	case "host":
		return w.hostNumbers(ctx)
	case "tell":
		l.begin()
		l.wg.Go(func() { w.tellNumbers(sender(0)) })
		return nil
	case "move":
		var k int
		if _, err := fmt.Sscan(word, &k); err != nil {
			return err
		}
		return w.moveNumbers(ctx, k)
	case "rest":
		close(l.stop)
		l.wg.Wait()
		return nil
	}
	return errors.New("unknown request " + do)
}

func sender(i int) string { return fmt.Sprint(os.Getpid(), "/", i) }

func (l *numbersLoad) begin() { l.stop, l.more = make(chan struct{}), make(chan struct{}, 1) }

// askNumbers asks one witness after the other, and writes how each question ended.
func (w *witnessNode) askNumbers(from string) {
	for n := uint64(1); ; n++ {
		for i := range witnesses {
			select {
			case <-w.load.stop:
				return
			default:
			}
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
			_, err := sharding.Ask(ctx, w.region.Ref(witnessID(i)), numbered{From: from, N: n})
			cancel()
			if errors.Is(err, sharding.ErrStopped) {
				return // the node has ended
			}
			l := line{What: lineAcked, Entity: witnessID(i), From: from, N: n}
			if err != nil {
				l.What, l.Text = lineFailed, err.Error()
			}
			w.write(l)
			if err == nil {
				w.load.acked.Add(1)
				select {
				case w.load.more <- struct{}{}:
				default:
				}
			}
		}
	}
}

// hostNumbers starts the type whose shards live where the test says. It returns when that has a coordinator.
func (w *witnessNode) hostNumbers(ctx context.Context) error {
	w.load.at, w.load.moved = map[sharding.ShardID]view.UID{}, make(chan struct{})
	var err error
	w.load.region, err = sharding.Start(w.n, sharding.EntityType[Command]{
		Identity:   sharding.Identity{Name: "Numbers", Role: role, Shards: numbersShards},
		Allocation: sharding.Allocation{Strategy: allocation.External{}},
		Messages:   sharding.CBOR[Command](mark{}, numbered{}), New: w.make,
		Rebalance:    sharding.Rebalance{Interval: 100 * time.Millisecond},
		Coordination: sharding.Coordination{RetryInterval: 100 * time.Millisecond},
		OnEvent: func(e events.Event) {
			switch e := e.(type) {
			case sharding.Event:
				w.noteMove(e.What)
			case sharding.Drop:
				w.write(line{What: lineDropped, Entity: e.ID, Text: e.Reason.String()})
			}
		},
	})
	for look := time.NewTicker(10 * time.Millisecond); err == nil && w.load.region.Coordinator() == 0; {
		select {
		case <-look.C:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	return err
}

func (w *witnessNode) noteMove(e protocol.Event) {
	if e.Kind != protocol.ShardMoved {
		return
	}
	l := &w.load
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at[e.Shard] = e.Peer
	close(l.moved)
	l.moved = make(chan struct{})
}

// tellNumbers sends a stream to each entity, a message in each millisecond, until that is enough;
// and returns when all was handled: what was told before a question is handled before it.
func (w *witnessNode) tellNumbers(from string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	n := uint64(0)
	for enough := false; !enough; {
		n++
		for _, id := range numbersID {
			if err := w.load.region.Tell(ctx, id, numbered{From: from, N: n}); err != nil {
				w.write(line{What: lineFailed, Entity: id, From: from, N: n, Text: err.Error()})
				return
			}
		}
		select {
		case <-w.load.stop:
			enough = n >= numbersTold
		case <-tick.C:
		}
	}
	for _, id := range numbersID {
		if _, err := sharding.Ask(ctx, w.load.region.Ref(id), mark{}); err != nil {
			w.write(line{What: lineFailed, Entity: id, From: from, N: n, Text: err.Error()})
			return
		}
		w.write(line{What: lineTold, Entity: id, From: from, N: n})
	}
}

// moveNumbers moves each shard to the k-th member after the one of its number, and returns when
// they are there. Only the coordinator's process can tell.
func (w *witnessNode) moveNumbers(ctx context.Context, k int) error {
	l := &w.load
	client, err := l.region.External()
	if err != nil {
		return err
	}
	for _, id := range numbersID { // each has a home, which this node knows
		if _, err := sharding.Ask(ctx, l.region.Ref(id), mark{}); err != nil {
			return err
		}
	}
	members := w.n.Members()
	want, to := map[sharding.ShardID]view.UID{}, map[sharding.ShardID]string{}
	for n, id := range numbersID {
		m, s := members[(n+k)%len(members)], sharding.ShardID(n)
		to[s] = m.Addr
		if at, err := l.region.Where(context.Background(), id, sharding.LookHere); err != nil || at.Node != m.UID {
			want[s] = m.UID
		}
	}
	l.mu.Lock()
	clear(l.at)
	l.mu.Unlock()
	if err := client.SetShardLocations(ctx, to); err != nil {
		return err
	}
	for {
		l.mu.Lock()
		here, moved := 0, l.moved
		for s, uid := range want { // order: only counted
			if l.at[s] == uid {
				here++
			}
		}
		l.mu.Unlock()
		if here == len(want) {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("%w: %d of %d shards have moved", context.Cause(ctx), here, len(want))
		}
	}
}
