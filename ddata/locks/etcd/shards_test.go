package etcd_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/coterie-go/coterie/ddata/locks/etcd"
	"github.com/coterie-go/coterie/ddata/locks/etcd/etcdtest"
	"github.com/coterie-go/coterie/proptest/nodetest"
	"github.com/coterie-go/coterie/sharding/leasetest"
)

// shardsTTL is longer than the cluster takes to remove a node that was killed.
const shardsTTL = 4 * time.Second

// runLeased is the program of a node whose shards have leases. Where they are is the address of etcd.
func runLeased(ctx context.Context, in []byte) (nodetest.Node, error) {
	var s leasetest.Settings
	if err := json.Unmarshal(in, &s); err != nil {
		return nil, err
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Leases}, Logger: zap.NewNop()})
	if err != nil {
		return nil, err
	}
	store, err := etcd.Open(ctx, client, etcd.Config{TTL: shardsTTL})
	if err != nil {
		return nil, err
	}
	return leasetest.Start(ctx, s, store)
}

// A node that runs a shard is killed. Another one takes it over when the lease has ended.
func TestShardLeases(t *testing.T) {
	t.Parallel()
	where := etcdtest.Start(t, 1).Members[0].Addr()
	leasetest.Run(t, func() leasetest.Process { return nodetest.Start(t, "leased") }, where, shardsTTL)
}
