package commits

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// perEntity is how many events each entity has that recovers.
const perEntity = 100

// group is how many entities are written, read or asked at one time.
const group = 256

// recovering is the id of the i-th entity.
func recovering(i int) string { return fmt.Sprintf("recovers-%d", i) }

// fillers is how many shards are filled at one time: a store on disks waits for them.
const fillers = 4

// fill stores the histories of entities. It returns how long that took.
func fill(ctx context.Context, journal persistence.Journal, entities int) (time.Duration, error) {
	began := time.Now()
	stored, err := Events().Encode(Added{make([]byte, Body)})
	if err != nil {
		return 0, err
	}
	byShard := make([][]int, Shards)
	for i := range entities {
		s := sharding.ShardOf(recovering(i), Shards)
		byShard[s] = append(byShard[s], i)
	}
	errs := make([]error, fillers)
	var wg sync.WaitGroup
	for f := range fillers {
		wg.Go(func() {
			for s := f; s < Shards && errs[f] == nil; s += fillers {
				errs[f] = fillShard(ctx, journal, protocol.ShardID(s), byShard[s], stored)
			}
		})
	}
	wg.Wait()
	return time.Since(began), cmp.Or(errs...)
}

// fillShard stores the histories of some entities of a shard, whose events are all the same.
func fillShard(
	ctx context.Context, journal persistence.Journal, shard protocol.ShardID, entities []int, event schema.Stored,
) error {
	h := persistence.Hosting{Type: Name, Shard: shard, Token: singleton.FencingToken{Epoch: 1}}
	if err := journal.Fence(ctx, h); err != nil {
		return err
	}
	now := time.Now().Truncate(time.Microsecond)
	for some := range slices.Chunk(entities, group) {
		var writes []persistence.Write
		for _, i := range some {
			w := persistence.Write{Entity: protocol.EntityID(recovering(i)), ID: 1}
			for seq := uint64(1); seq <= perEntity; seq++ {
				w.Events = append(w.Events, persistence.Event{
					Seq: seq, Name: event.Name, Version: event.Version, Body: event.Body, At: now,
				})
			}
			writes = append(writes, w)
		}
		refused, err := journal.Append(ctx, h, writes)
		if err != nil || len(refused) > 0 {
			return fmt.Errorf("append: %v, refused %v", err, refused)
		}
	}
	return nil
}

// Recover stores the histories of entities, has their type started, asks each for the first time, and
// prints a line. The limit reads the same events from the journal, without entities.
func Recover(
	ctx context.Context, store string, journal persistence.Journal, entities int,
	start func() (region *sharding.Region[Command], stop func(), err error),
) error {
	filled, err := fill(ctx, journal, entities)
	if err != nil {
		return err
	}
	region, stop, err := start()
	if err != nil {
		return err
	}
	defer stop()
	var limit, own measure.Cost
	if err := limit.Measure(entities, func() error { return readAll(ctx, journal, entities) }); err != nil {
		return err
	}
	var next atomic.Int64
	if err := own.Measure(entities, func() error {
		errs := make([]error, group)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { errs[i] = recoverNext(ctx, region, &next, entities) })
		}
		wg.Wait()
		return cmp.Or(errs...)
	}); err != nil {
		return err
	}
	var f measure.Figures
	f.Add("entities", entities)
	f.Add("events_each", perEntity)
	f.Add("seconds", own.Wall.Seconds())
	f.Add("entities_per_s", int(float64(entities)/own.Wall.Seconds()))
	f.Add("cpu_us_per_entity", own.CPUNs()/1e3)
	f.Add("limit_seconds", limit.Wall.Seconds())
	f.Add("limit_cpu_us_per_entity", limit.CPUNs()/1e3)
	f.Add("fill_seconds", filled.Seconds())
	f.Add("ratio", limit.Wall.Seconds()/own.Wall.Seconds())
	measure.Report("persist", store+"-recovery", f)
	return nil
}

// recoverNext asks one entity after the other that no other caller asks.
func recoverNext(ctx context.Context, region *sharding.Region[Command], next *atomic.Int64, entities int) error {
	for i := int(next.Add(1)) - 1; i < entities; i = int(next.Add(1)) - 1 {
		n, err := sharding.Ask(ctx, region.Ref(recovering(i)), Count{})
		if err != nil || n != perEntity {
			return fmt.Errorf("%s has %d events, want %d: %v", recovering(i), n, perEntity, err)
		}
	}
	return nil
}

// readAll loads all histories, in calls about as many entities as a client's.
func readAll(ctx context.Context, journal persistence.Journal, entities int) error {
	byShard := make([][]persistence.Read, Shards)
	for i := range entities {
		s := sharding.ShardOf(recovering(i), Shards)
		byShard[s] = append(byShard[s], persistence.Read{Entity: protocol.EntityID(recovering(i))})
	}
	for s, all := range byShard {
		h := persistence.Hosting{Type: Name, Shard: protocol.ShardID(s), Token: singleton.FencingToken{Epoch: 1}}
		for len(all) > 0 {
			some := all[:min(len(all), group)]
			all = all[len(some):]
			found := 0
			_, err := journal.Load(ctx, h, some, func(int, persistence.Event) error {
				found++
				return nil
			})
			if err != nil || found != len(some)*perEntity {
				return fmt.Errorf("load: %d events of %d entities: %v", found, len(some), err)
			}
		}
	}
	return nil
}
