package postgres_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/coterie-go/coterie/ddata/locks/postgres"
	"github.com/coterie-go/coterie/proptest/nodetest"
	"github.com/coterie-go/coterie/sharding/leasetest"
)

// shardsTTL is longer than the cluster takes to remove a node that was killed.
const shardsTTL = 4 * ttl

// runLeased is the program of a node whose shards have leases. Where they are is a line with the
// schema, and the connection string.
func runLeased(ctx context.Context, in []byte) (nodetest.Node, error) {
	var s leasetest.Settings
	if err := json.Unmarshal(in, &s); err != nil {
		return nil, err
	}
	schema, dsn, _ := strings.Cut(s.Leases, "\n")
	pool, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	store, err := postgres.Open(ctx, postgres.Config{Pool: pool, Schema: schema, TTL: shardsTTL})
	if err != nil {
		return nil, err
	}
	return leasetest.Start(ctx, s, store)
}

// A node that runs a shard is killed. Another one takes it over when the lease has ended.
func TestShardLeases(t *testing.T) {
	t.Parallel()
	where := newSchema() + "\n" + suite.Server(t).DSN()
	leasetest.Run(t, func() leasetest.Process { return nodetest.Start(t, "leased") }, where, shardsTTL)
}
