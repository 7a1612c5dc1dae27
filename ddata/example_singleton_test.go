package ddata_test

import (
	"context"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/ddata"
)

// A report that one node of the cluster writes, whichever is the oldest, until it leaves and hands
// over.
func ExampleNode_RunSingleton() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	node, err := ddata.Start(ctx, config("127.0.0.1:0", nil, 1))
	if err != nil {
		fmt.Println(err)
		return
	}
	writing := make(chan struct{})
	reports, err := node.RunSingleton(ddata.SingletonConfig{
		Name: "reports",
		Run: func(ctx context.Context, token ddata.FencingToken) error {
			fmt.Println("writing reports in view", uint64(token.Epoch))
			close(writing)
			<-ctx.Done() // until the node leaves, ends, or has lost its lease
			fmt.Println("stopped:", context.Cause(ctx))
			return nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	<-writing
	var state ddata.SingletonState = reports.State()
	fmt.Println(reports.Name(), "is", state)
	fmt.Println("left:", node.Leave(ctx))
	fmt.Println(reports)
	// Output:
	// writing reports in view 1
	// reports is running
	// stopped: membership: left the cluster
	// left: <nil>
	// singleton "reports" of backend: handed over
}
