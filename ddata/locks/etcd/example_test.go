package etcd_test

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/locks/etcd"
	"github.com/coterie-go/coterie/ddata/membership/downing"
)

// The lease of LeaseMajority is kept in etcd. The client is closed after the node.
func ExampleOpen() {
	ctx := context.Background()
	client, err := clientv3.New(clientv3.Config{
		Endpoints:         []string{"https://etcd-0.example.org:2379", "https://etcd-1.example.org:2379"},
		DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 3 * time.Second,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	leases, err := etcd.Open(ctx, client, etcd.Config{Prefix: "shop"})
	if err != nil {
		fmt.Println(err)
		return
	}
	n, err := ddata.Start(ctx, ddata.Config{Name: "shop", Downing: downing.LeaseMajority{}, Leases: leases})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer n.Close()
}
