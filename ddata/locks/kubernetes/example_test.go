package kubernetes_test

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/locks/kubernetes"
	"github.com/coterie-go/coterie/ddata/membership/downing"
)

// The lease of LeaseMajority is an object of the namespace of the pod.
func ExampleOpen() {
	ctx := context.Background()
	cluster, err := rest.InClusterConfig()
	if err != nil {
		fmt.Println(err)
		return
	}
	leases, err := kubernetes.Open(ctx, cluster, kubernetes.Config{Prefix: "shop"})
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
