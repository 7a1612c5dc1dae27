package tails

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding"
)

const (
	// share of what the cluster can do is the load.
	share = 0.7
	// longer is how many times the time of a case each of the two loads lasts.
	longer = 5
	// A rate is borne if so much of it is done, and of ten operations nine are not later than that.
	enough = 0.98
	late   = 20 * time.Millisecond
	// down is the next rate that is tried, as a part of the one before, and tries how many there are.
	down  = 0.85
	tries = 12

	// callers is how many begin operations of one kind.
	callers = 64

	keys = 1000 // counters that are written, and entities that are asked
)

// Run measures asks and majority writes of three nodes in this process, which hold size elements, for
// several times d: quiet, and while nodes are given snapshots, are repaired and compacted, and shards move.
func Run(ctx context.Context, d time.Duration, size int) error {
	dir, err := os.MkdirTemp("", "bench-tails")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c, err := startCluster(ctx, dir, d >= figures)
	if err != nil {
		return err
	}
	defer c.close()
	if err := c.fill(ctx, size); err != nil {
		return err
	}
	s, err := c.scene(ctx)
	if err != nil {
		return err
	}
	if err := s.capacity(ctx, d); err != nil {
		return err
	}
	quiet, err := s.under(ctx, share, func() error { return measure.Pass(ctx, longer*d) })
	if err != nil {
		return fmt.Errorf("quiet: %w", err)
	}
	t := trouble{c: c, region: s.region}
	busy, err := s.under(ctx, share, func() error { return t.last(ctx, longer*d) })
	if err != nil {
		return fmt.Errorf("busy: %w", err)
	}
	for i, name := range kinds {
		var f measure.Figures
		f.Add("able_ops_per_s", int(s.able[i]))
		f.Add("ops_per_s", int(busy[i].PerSecond()))
		spread(&f, busy[i], quiet[i])
		f.Add("snapshots", t.snapshots)
		f.Add("repairs", t.repairs)
		f.Add("compactions", t.compactions)
		f.Add("moves", t.moves)
		measure.Report("tails", name, f)
	}
	return nil
}

// kinds of operations.
var kinds = [...]string{"ask", "write"}

type op func(ctx context.Context, caller, i int) error

// scene is what is done to a cluster.
type scene struct {
	region *sharding.Region[message]
	ops    [len(kinds)]op
	able   [len(kinds)]float64 // operations in a second, of each kind when both are done
}

func (c *cluster) scene(ctx context.Context) (*scene, error) {
	regions, err := c.regions()
	if err != nil {
		return nil, err
	}
	s := &scene{region: regions[0]}
	client, err := s.region.External()
	if err != nil {
		return nil, err
	}
	homes := map[sharding.ShardID]string{}
	for i := range shards {
		homes[sharding.ShardID(i)] = c.home(i)
	}
	if err := client.SetShardLocations(ctx, homes); err != nil {
		return nil, err
	}
	refs := make([]*sharding.EntityRef[message], keys)
	for i := range refs {
		refs[i] = s.region.Ref("entity-" + strconv.Itoa(i))
		if _, err := sharding.Ask(ctx, refs[i], question{}); err != nil {
			return nil, err
		}
	}
	r, err := c.nodes[0].Replicator(role)
	if err != nil {
		return nil, err
	}
	s.ops = [...]op{
		func(ctx context.Context, caller, i int) error {
			_, err := sharding.Ask(ctx, refs[(caller+i*callers)%keys], question{N: uint64(i)})
			return err
		},
		func(ctx context.Context, caller, i int) error {
			key := ddata.NewKey[crdt.GCounter]("counter/" + strconv.Itoa((caller+i*callers)%keys))
			return ddata.Update(ctx, r, key, ddata.WriteMajority,
				func(g *crdt.GCounterTx) error { return g.Increment(1) })
		},
	}
	return s, nil
}

// capacity finds how much of both kinds can be begun by the clock so that nothing piles up. That is less than
// callers without a pause can do, whose operations come in batches: it goes down from there, to a seventh at most.
func (s *scene) capacity(ctx context.Context, d time.Duration) error {
	if err := s.closed(ctx, d); err != nil {
		return err
	}
	for range tries {
		l, err := s.under(ctx, 1, func() error { return measure.Pass(ctx, d) })
		if err != nil {
			return err
		}
		kept := true
		for i := range l {
			kept = kept && l[i].PerSecond() > enough*s.able[i] && l[i].Percentile(.9) < float64(late.Microseconds())
		}
		if kept {
			return nil
		}
		for i := range s.able {
			s.able[i] *= down
		}
	}
	return nil // of a machine that others use so much, the figures say that
}

// closed measures what can be done of both kinds at a time by callers without a pause.
func (s *scene) closed(ctx context.Context, d time.Duration) error {
	var errs [len(kinds)]error
	var both sync.WaitGroup
	for i, do := range s.ops {
		both.Go(func() {
			var l measure.Load
			l, errs[i] = measure.Callers(callers, d, func(caller, n int) error { return do(ctx, caller, n) })
			s.able[i] = l.PerSecond()
		})
	}
	both.Wait()
	return errors.Join(errs[:]...)
}

// under does something while the cluster is under a part of the load that it can bear.
func (s *scene) under(ctx context.Context, part float64, do func() error) (l [len(kinds)]measure.Load, err error) {
	var paces [len(kinds)]*measure.Pace
	for i, op := range s.ops {
		paces[i] = measure.Begin(ctx, callers, part*s.able[i], op)
	}
	err = do()
	for i, p := range paces {
		var failed error
		if l[i], failed = p.End(); err == nil {
			err = failed
		}
	}
	return l, err
}

// spread says how long parts of the operations took, beside the same while all was quiet.
func spread(f *measure.Figures, busy, quiet measure.Load) {
	for _, p := range []struct {
		name string
		part float64
	}{{"p99_9", .999}, {"p50", .5}, {"p75", .75}, {"p90", .9}, {"p99", .99}, {"p99_99", .9999}, {"most", 1}} {
		f.Add(p.name+"_us", busy.Percentile(p.part))
		f.Add("limit_"+p.name+"_us", quiet.Percentile(p.part))
	}
	f.Add("ratio", busy.Percentile(.999)/quiet.Percentile(.999))
}
