package floods

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/proptest/ports"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/sharding"
)

// flood is what users do to the data of a role.
type flood struct {
	name            string
	callers, values int // how many write at a time, and to how many keys each
	bytes           int // of a value
}

// Start starts n nodes; stop ends them. Directories are none of this package's.
type Start func(ctx context.Context, n int, dirs []string) (nodes []*ddata.Node, stop func(), err error)

// Run measures writes as a coordinator makes them, on three nodes, while users write: each case for twice d.
// At last a node joins while the others have size/10,000 MiB of users' data.
func Run(ctx context.Context, start Start, d time.Duration, size int) error {
	for _, fl := range []flood{
		{name: "quiet"},
		{"64-callers", 64, 16, 128},
		{"medium-values", 64, 4, 16 << 10}, // as large as can be in the lane of acks
		{"large-values", 8, 4, 256 << 10},
	} {
		if err := underFlood(ctx, start, d, fl); err != nil {
			return fmt.Errorf("%s: %w", fl.name, err)
		}
	}
	return whileJoining(ctx, start, size/5000)
}

func underFlood(ctx context.Context, start Start, d time.Duration, fl flood) error {
	nodes, stop, err := start(ctx, 3, nil)
	if err != nil {
		return err
	}
	defer stop()
	poured, calm := pour(ctx, nodes, fl)
	var f measure.Figures
	if err := bothWays(&f, nodes[0].Host(), d); err != nil {
		return err
	}
	if err := calm(); err != nil {
		return err
	}
	f.Add("user_mb_per_s", float64(poured.Load()*int64(fl.bytes))/1e6/(2*d).Seconds())
	measure.Report("reserved", fl.name, f)
	return nil
}

// bothWays writes homes of shards to the users' data for a time, and then to the reserved data.
func bothWays(f *measure.Figures, h host.Host, d time.Duration) error {
	var p99 [2]float64
	for i, way := range []struct {
		name, key string
		data      func(role string) (host.Data, error)
	}{{"user", "bench/homes", h.UserData}, {"reserved", "sharding/bench/homes", h.Data}} {
		data, err := way.data(h.Self.Roles[0])
		if err != nil {
			return err
		}
		l, err := measure.Callers(1, d, func(_, n int) error { return giveHome(data, way.key, n) })
		if err != nil {
			return err
		}
		p99[i] = l.Percentile(.99)
		f.Add(way.name+"_p50_us", l.Percentile(.5))
		f.Add(way.name+"_p99_us", p99[i])
		f.Add(way.name+"_most_us", l.Percentile(1))
		f.Add(way.name+"_per_s", int(l.PerSecond()))
	}
	f.Add("p99_ratio", p99[1]/p99[0])
	return nil
}

// giveHome writes the home of one shard, as a coordinator does.
func giveHome(data host.Data, key string, n int) error {
	done := make(chan error, 1)
	data.Update(key, quorum.Majority, 0, crdt.Mutate[crdt.LWWMap[uint32, uint64]](
		func(m *crdt.LWWMapTx[uint32, uint64]) error { return m.Put(uint32(n%1000), uint64(n)) },
	), func(err error) { done <- err })
	return <-done
}

// pour has users write on all nodes, until calm is called. poured counts their writes.
func pour(ctx context.Context, nodes []*ddata.Node, fl flood) (poured *atomic.Int64, calm func() error) {
	poured = &atomic.Int64{}
	ctx, cancel := context.WithCancel(ctx)
	var users sync.WaitGroup
	errs := make([]error, fl.callers)
	value := make([]byte, fl.bytes)
	for c := range fl.callers {
		users.Go(func() {
			n := nodes[c%len(nodes)]
			r, err := n.Replicator(n.Roles()[0])
			for i := 0; err == nil; i++ {
				key := ddata.NewKey[crdt.LWWRegister[[]byte]](fmt.Sprintf("value/%d/%d", c, i%fl.values))
				err = ddata.Update(ctx, r, key, ddata.WriteMajority,
					func(v *crdt.LWWRegisterTx[[]byte]) error { return v.Put(value) })
				poured.Add(1)
			}
			if !errors.Is(err, context.Canceled) {
				errs[c] = err
			}
		})
	}
	return poured, func() error {
		cancel()
		users.Wait()
		return errors.Join(errs...)
	}
}

// whileJoining has a node join three that hold much, and measures how long the first shard of an entity
// type takes meanwhile to get a home and to handle its first message. Beside it the same without a
// joiner.
func whileJoining(ctx context.Context, start Start, values int) error {
	nodes, stop, err := start(ctx, 3, nil)
	if err != nil {
		return err
	}
	defer stop()
	const bytes = 512 << 10
	role := nodes[0].Roles()[0]
	r, err := nodes[0].Replicator(role)
	if err != nil {
		return err
	}
	for i := range values {
		key := ddata.NewKey[crdt.LWWRegister[[]byte]]("large/" + strconv.Itoa(i))
		if err := ddata.Update(ctx, r, key, ddata.WriteAll,
			func(v *crdt.LWWRegisterTx[[]byte]) error { return v.Put(make([]byte, bytes)) }); err != nil {
			return err
		}
	}
	alone, err := firstShard(ctx, nodes, "Alone")
	if err != nil {
		return err
	}
	addrs, err := ports.Free(1)
	if err != nil {
		return err
	}
	joined := make(chan error, 1)
	began := time.Now()
	go func() {
		late, err := ddata.Start(ctx, ddata.Config{
			Name: nodes[0].ClusterName(), Bind: addrs[0], Seeds: []string{nodes[0].Addr()}, Roles: []string{role},
			Preset: ddata.Local, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		})
		if err == nil {
			_ = late.Close()
		}
		joined <- err
	}()
	for v, err := range nodes[0].Watch(ctx) {
		if err != nil {
			return err
		}
		if len(v.Members) > 3 {
			break
		}
	}
	meanwhile, err := firstShard(ctx, nodes, "Meanwhile")
	if err != nil {
		return err
	}
	over := len(joined) > 0
	if err := <-joined; err != nil {
		return err
	}
	var f measure.Figures
	f.Add("user_mb", values*bytes>>20)
	f.Add("join_seconds", time.Since(began).Seconds())
	f.Add("joined_before_the_shard", over)
	f.Add("first_shard_ms", measure.Millis(meanwhile))
	f.Add("limit_first_shard_ms", measure.Millis(alone))
	f.Add("ratio", float64(meanwhile)/float64(alone))
	measure.Report("reserved", "joining", f)
	return nil
}

// firstShard starts an entity type and returns how long its first message takes.
func firstShard(ctx context.Context, nodes []*ddata.Node, name string) (time.Duration, error) {
	began := time.Now()
	var region *sharding.Region[message]
	for _, n := range nodes {
		var err error
		if region, err = sharding.Start(n, sharding.EntityType[message]{
			Identity: sharding.Identity{Name: name, Role: n.Roles()[0], Shards: 100},
			Messages: sharding.CBOR[message](greet{}),
			New:      func(*sharding.Context[message]) sharding.Entity[message] { return greeted{} },
		}); err != nil {
			return 0, err
		}
	}
	_, err := sharding.Ask(ctx, region.Ref("first"), greet{})
	return time.Since(began), err
}

type message interface{ message() }

// greet asks for an answer.
type greet struct {
	sharding.Returns[message, bool]
}

func (greet) message() {}

// greeted is an entity that answers.
type greeted struct{}

// Receive implements sharding.Entity.
func (greeted) Receive(c *sharding.Context[message], _ message) error { return c.Reply(true) }
