package tails

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/coterie-go/coterie/sharding"
)

const (
	// limit is how long one piece of trouble may last.
	limit = 2 * time.Minute
	// together is how many shards move at a time.
	together = 10
)

// trouble is all that moves data, at one time and again and again.
type trouble struct {
	c      *cluster
	region *sharding.Region[message]

	next                                   int // shard that is moved, counted on from turn to turn
	snapshots, repairs, compactions, moves int
}

// last has every kind of trouble, for a time and at least once.
func (t *trouble) last(ctx context.Context, d time.Duration) error {
	over, stop := context.WithTimeout(ctx, d)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, d+limit)
	defer cancel()
	var all sync.WaitGroup
	var errs [3]error
	for i, kind := range []func(context.Context) error{t.visit, t.restart, t.move} {
		all.Go(func() {
			for again := true; again && errs[i] == nil; again = over.Err() == nil {
				errs[i] = kind(ctx)
			}
		})
	}
	all.Wait()
	return errors.Join(errs[:]...)
}

// visit has an empty node join, which is given a snapshot of all data, and leave.
func (t *trouble) visit(context.Context) error {
	if err := t.each(visiting, "forget", "start", "leave"); err != nil {
		return err
	}
	t.snapshots++
	return nil
}

// restart has a node leave, writes its store anew, and starts it again: its replicated data comes with a
// snapshot, and what is durable is repaired.
func (t *trouble) restart(context.Context) error {
	if err := t.each(restarted, "leave", "compact"); err != nil {
		return err
	}
	t.compactions++
	repairs, err := t.c.guest(restarted, "start")
	t.repairs += repairs
	return err
}

func (t *trouble) each(guest int, words ...string) error {
	for _, w := range words {
		if _, err := t.c.guest(guest, w); err != nil {
			return err
		}
	}
	return nil
}

// move has some shards moved to the next node, and waits for them.
func (t *trouble) move(ctx context.Context) error {
	client, err := t.region.External()
	if err != nil {
		return err
	}
	to := map[sharding.ShardID]string{}
	for range together {
		s, turn := t.next%shards, t.next/shards
		to[sharding.ShardID(s)] = t.c.home(s + turn + 1)
		t.next++
	}
	moves := t.region.WatchMoves(ctx)
	if err := client.SetShardLocations(ctx, to); err != nil {
		return err
	}
	for s, err := range moves {
		if err != nil {
			return fmt.Errorf("%d of %d shards do not move: %w", len(to), together, err)
		}
		if _, ok := to[s]; ok {
			delete(to, s)
			t.moves++
		}
		if len(to) == 0 {
			break
		}
	}
	return nil
}
