package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/sharding"
)

const (
	moveHosts   = 3
	moveSenders = moveHosts + 1 // one on each host, and one on a node that hosts nothing
	moveShards  = 100
	moveLimit   = 30 * time.Second // until shards that were told to move have moved
	moveFactor  = 4                // shards move for so many times what a case takes elsewhere
)

// runRebalance moves shards from node to node while numbered messages come for all of their
// entities, and looks at every number. All nodes are in this process, so that it can; what goes
// from one to another goes over the network. The pause of a move is how long no message of the
// shard was handled.
func runRebalance(ctx context.Context, o options) error {
	for _, together := range []int{1, 10, moveShards} {
		if err := rebalance(ctx, o.d, together); err != nil {
			return fmt.Errorf("%d at a time: %w", together, err)
		}
	}
	return nil
}

// rebalance has so many shards at a time told to move, and waits for them.
func rebalance(ctx context.Context, d time.Duration, together int) error {
	nodes, stop, err := startNodes(ctx, moveSenders, nil)
	if err != nil {
		return err
	}
	defer stop()
	w := newWanderers()
	regions := make([]*sharding.Region[Message], moveSenders)
	for i, n := range nodes {
		if regions[i], err = w.start(n, i); err != nil {
			return err
		}
	}
	if err := w.settle(ctx, regions); err != nil {
		return err
	}
	client, err := regions[0].External()
	if err != nil {
		return err
	}
	move := func(shards []int, turn int) error {
		at := map[sharding.ShardID]string{}
		for _, s := range shards {
			at[sharding.ShardID(s)] = nodes[(s+turn)%moveHosts].Addr()
		}
		if err := client.SetShardLocations(ctx, at); err != nil {
			return err
		}
		return w.arrived(ctx, shards, turn)
	}
	all := make([]int, moveShards)
	for i := range all {
		all[i] = i
	}
	sending, end := context.WithCancel(ctx)
	defer end()
	told := w.send(sending, regions)
	if err := move(all, 0); err != nil { // to where they begin
		return err
	}
	interval, longest, err := w.gaps(ctx, d/2)
	if err != nil {
		return err
	}
	w.begin()
	took, err := inTurns(all, together, moveFactor*d, move)
	if err != nil {
		return err
	}
	end()
	sent, err := told()
	if err != nil {
		return err
	}
	if err := w.settle(ctx, regions); err != nil {
		return err
	}
	f := w.figures(took, sent)
	f.Add("interval_ms", measure.Millis(interval)) // between two messages of a shard that does not move
	f.Add("interval_max_ms", measure.Millis(longest))
	f.Add("dropped", droppedBy(regions))
	measure.Report("rebalance", strconv.Itoa(together)+"-at-a-time", f)
	return nil
}

// inTurns moves some shards after the others, and all of them again and again, until d is over.
func inTurns(all []int, together int, d time.Duration,
	move func(shards []int, turn int) error) (took time.Duration, err error) {
	began := time.Now()
	for turn := 1; ; turn++ {
		for part := range slices.Chunk(all, together) {
			if err := move(part, turn); err != nil {
				return 0, err
			}
			if took = time.Since(began); took >= d {
				return took, nil
			}
		}
	}
}

// figures are of moves that took so long, and of so many messages.
func (w *movingEntities) figures(took time.Duration, sent uint64) (f measure.Figures) {
	pauses := w.pauses()
	f.Add("moved", len(pauses))
	f.Add("moves_per_s", float64(len(pauses))/took.Seconds())
	f.Add("pause_p50_ms", measure.Millis(measure.PercentileOf(pauses, 0.5)))
	f.Add("pause_p99_ms", measure.Millis(measure.PercentileOf(pauses, 0.99)))
	f.Add("pause_max_ms", measure.Millis(measure.PercentileOf(pauses, 1)))
	f.Add("told", sent)
	f.Add("told_per_s", int(float64(sent)/w.sendingFor.Seconds()))
	f.Add("lost", int64(sent)-w.handled.Load())
	f.Add("reordered", w.reordered.Load())
	f.Add("aborted", w.aborted.Load())
	return f
}
