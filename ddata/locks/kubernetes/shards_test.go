package kubernetes_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/coterie-go/coterie/ddata/locks/kubernetes"
	"github.com/coterie-go/coterie/ddata/locks/kubernetes/kubetest"
	"github.com/coterie-go/coterie/proptest/nodetest"
	"github.com/coterie-go/coterie/sharding/leasetest"
)

// shardsTTL is longer than the cluster takes to remove a node that was killed.
const shardsTTL = 4 * time.Second

// runLeased is the program of a node whose shards have leases. Where they are is the URL of the API server.
func runLeased(ctx context.Context, in []byte) (nodetest.Node, error) {
	var s leasetest.Settings
	if err := json.Unmarshal(in, &s); err != nil {
		return nil, err
	}
	store, err := kubernetes.Open(ctx, &rest.Config{Host: s.Leases}, kubernetes.Config{
		Namespace: kubetest.Namespace, TTL: shardsTTL,
	})
	if err != nil {
		return nil, err
	}
	return leasetest.Start(ctx, s, store)
}

// A node that runs a shard is killed. Another one takes it over when the lease has ended.
func TestShardLeases(t *testing.T) {
	t.Parallel()
	where := kubetest.Start(t).URL()
	leasetest.Run(t, func() leasetest.Process { return nodetest.Start(t, "leased") }, where, shardsTTL)
}
