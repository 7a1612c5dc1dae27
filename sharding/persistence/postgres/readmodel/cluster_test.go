package readmodel

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/sharding/daemon"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/postgres"
	"github.com/coterie-go/coterie/sharding/persistence/postgres/postgrestest"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
	"github.com/coterie-go/coterie/sharding/projection"
	"github.com/coterie-go/coterie/sharding/protocol"
)

const writers = 4 // each with some entities in a shard of its own

// write appends events to the entities of a writer until it shall stop, and returns how many each has.
func write(ctx context.Context, t *testing.T, j persistence.Journal, writer int, stop *atomic.Bool) (each uint64) {
	h := persistence.Hosting{Type: "sum", Shard: protocol.ShardID(writer),
		Token: singleton.FencingToken{Era: 1, Epoch: 1, Up: 1, Seq: 1}}
	stored, err := schema.CBOR(schema.Type("event", event{})).Encode(event{1})
	if err != nil {
		t.Error(err)
		return 0
	}
	for !stop.Load() {
		var writes []persistence.Write
		for i := range 5 {
			id := protocol.EntityID(fmt.Sprint("e", writer, i))
			e := persistence.Event{
				Seq: each + 1, Name: stored.Name, Version: stored.Version, Body: stored.Body, At: time.Now(),
			}
			w := persistence.Write{Entity: id, After: each, ID: each + 1, Events: []persistence.Event{e}}
			writes = append(writes, w)
		}
		refused, err := j.Append(ctx, h, writes)
		switch {
		case ctx.Err() != nil || len(refused) > 0:
			t.Error(refused, ctx.Err())
			return each
		case err == nil:
			each++
		} // else the server is away: the write is repeated
	}
	return each
}

// Three nodes carry events of a journal into a table, while it grows, the number of workers changes, a
// node is killed, and so is the server, with a restart. Each event has taken effect once, in order.
func TestCluster(t *testing.T) {
	server := postgrestest.Start(t)
	pool, err := pgxpool.ParseConfig(server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	pool.MaxConns = 30
	journal, err := postgres.Open(t.Context(), postgres.Config{Pool: pool})
	if err != nil {
		t.Fatal(err)
	}
	defer journal.Close()
	s := open(t, Config{Pool: newPool(t, server.DSN())})
	table := effects(t, s)
	nodes := ddatatest.Start(t, "backend", "backend", "backend")
	var all []*projection.Projection[event]
	for _, n := range nodes {
		p, err := projection.Start(n, projection.Config[event]{
			Name: "effects", Role: "backend", Type: "sum", Reader: journal, Parts: 8, BatchMax: 7,
			Events: schema.CBOR(schema.Type("event", event{})), Target: ExactlyOnce(s, insert(table)),
			LookInterval: 100 * time.Millisecond, BackoffMin: 10 * time.Millisecond, BackoffMax: time.Second,
			Adapt: func(d *daemon.Config) {
				d.KeepAliveInterval, d.KeepAliveThrottle = 200*time.Millisecond, time.Millisecond
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var stop atomic.Bool
	var each [writers]uint64
	var writing sync.WaitGroup
	for i := range writers {
		writing.Go(func() { each[i] = write(ctx, t, journal, i, &stop) })
	}
	defer writing.Wait()
	defer stop.Store(true)
	more := func() { // until some more effects are there
		t.Helper()
		from := tryCount(ctx, s, table)
		until(ctx, t, "more effects", func() bool { return tryCount(ctx, s, table) > from+200 })
	}
	rescale := func(at, workers int) { // until the node has its lease, which it may lose on a busy machine
		t.Helper()
		until(ctx, t, "another number of workers", func() bool {
			err := all[at].Rescale(ctx, workers)
			if err != nil && !errors.Is(err, ddata.ErrNoLease) {
				t.Fatal(err)
			}
			return err == nil
		})
	}
	more()
	for _, workers := range []int{7, 2, 8} {
		rescale(workers%3, workers)
		more()
	}
	_ = nodes[1].Close()
	if err := nodes[0].Down(nodes[1].UID()); err != nil {
		t.Fatal(err)
	}
	more()
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := server.Start(ctx); err != nil {
		t.Fatal(err)
	}
	more()
	rescale(2, 3)
	more()
	stop.Store(true)
	writing.Wait()
	want := 0
	for _, n := range each {
		want += 5 * int(n)
	}
	until(ctx, t, "all effects", func() bool { return tryCount(ctx, s, table) >= want })
	if w := wrong(t, s, table); len(w) > 0 {
		t.Errorf("%d are wrong: %v", len(w), w[0])
	}
	if got := count(t, s, table); got != want {
		t.Errorf("%d effects of %d events", got, want)
	}
	state, err := all[0].Stored(ctx)
	var handled uint64
	for _, p := range state.Parts {
		handled += p.Progress.Handled
	}
	if handled != uint64(want) || err != nil {
		t.Errorf("%d are counted of %d, %v", handled, want, err)
	}
	if n, err := all[0].Behind(ctx, 10); n != 0 || err != nil {
		t.Errorf("%d behind, %v", n, err)
	}
	t.Logf("%d events", want)
}

// tryCount is -1 while the server is away.
func tryCount(ctx context.Context, s *Store, table string) (n int) {
	if err := s.cfg.Pool.QueryRow(ctx, "SELECT count(*) FROM "+table).Scan(&n); err != nil {
		return -1
	}
	return n
}

// until waits until something is so.
func until(ctx context.Context, t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("in vain: %s", what)
		}
	}
}
