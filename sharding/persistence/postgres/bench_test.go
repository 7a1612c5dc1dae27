package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/postgres/postgrestest"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// BenchmarkAppend compares calls with one event of each of 64 entities, of several shards at one
// time, with batches of the same rows that check nothing. It reports events per second.
func BenchmarkAppend(b *testing.B) {
	const perCall = 64
	for _, callers := range []int{1, 4, 16} {
		b.Run(fmt.Sprintf("store/callers=%d", callers), func(b *testing.B) {
			s := openAt(b, benchServer(b), newSchema())
			after := make([]uint64, callers)
			measure(b, callers, perCall, func(caller int) error {
				h := hosting(protocol.ShardID(caller), 1)
				writes := make([]persistence.Write, perCall)
				for i := range writes {
					id := protocol.EntityID(fmt.Sprintf("entity-%d-%d", caller, i))
					writes[i] = write(id, after[caller], after[caller], benchBody)
				}
				after[caller]++
				refused, err := s.Append(b.Context(), h, writes)
				if len(refused) > 0 {
					b.Error(refused)
				}
				return err
			})
		})
		b.Run(fmt.Sprintf("raw/callers=%d", callers), func(b *testing.B) {
			pool := rawTable(b)
			after := make([]int64, callers)
			measure(b, callers, perCall, func(caller int) error {
				batch, insert := &pgx.Batch{}, "INSERT INTO raw_events VALUES ($1, $2, $3, $4, $5, $6)"
				for i := range perCall {
					id := fmt.Appendf(nil, "entity-%d-%d", caller, i)
					batch.Queue(insert, id, after[caller], "Added", int64(1), int64(1),
						[]byte(benchBody))
				}
				after[caller]++
				return pool.SendBatch(b.Context(), batch).Close()
			})
		})
	}
}

func rawTable(b *testing.B) *pgxpool.Pool {
	b.Helper()
	c := config(b, benchServer(b), "").Pool
	pool, err := pgxpool.NewWithConfig(b.Context(), c)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(pool.Close)
	_, err = pool.Exec(context.WithoutCancel(b.Context()), `DROP TABLE IF EXISTS raw_events; CREATE TABLE raw_events (
		entity bytea, seq bigint, name text, version bigint, at bigint, body bytea, PRIMARY KEY (entity, seq))`)
	if err != nil {
		b.Fatal(err)
	}
	return pool
}

// measure has callers share the calls of a benchmark.
func measure(b *testing.B, callers, perCall int, call func(caller int) error) {
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for range max(b.N/callers, 1) {
				if err := call(caller); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(max(b.N/callers, 1)*callers*perCall)/b.Elapsed().Seconds(), "events/s")
}

const benchBody = "a body of some fifty bytes, as those of events are."

// benchServer starts a server that waits for the disk, as those of production do.
func benchServer(b *testing.B) string {
	b.Helper()
	return postgrestest.Start(b, "fsync = on").DSN()
}
