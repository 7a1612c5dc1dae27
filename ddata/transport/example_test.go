package transport_test

import (
	"context"
	"fmt"

	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/ddata/transport/memory"
)

func Example() {
	hub := memory.NewHub() // leave Config.Network out for TCP
	start := func(id transport.NodeID, addr string) *transport.Mesh {
		m, err := transport.Listen(context.Background(), transport.Config{
			Cluster: "shop", Self: id, Bind: addr, Network: hub.At(addr),
		})
		if err != nil {
			panic(err)
		}
		return m
	}
	a, b := start(0xA, "10.0.0.1:7946"), start(0xB, "10.0.0.2:7946")
	defer a.Close()
	defer b.Close()

	orders := transport.ChannelOf("orders")
	done := make(chan struct{})
	b.Handle(orders, transport.HandlerFunc(func(from transport.NodeID, payload []byte) {
		fmt.Printf("%v says %s\n", from, payload)
		close(done)
	}))
	if err := a.AddPeer(b.Self(), b.Addr()); err != nil {
		panic(err)
	}
	if err := a.Send(b.Self(), transport.Data, 0, orders, []byte("two apples")); err != nil {
		panic(err)
	}
	<-done
	// Output: a says two apples
}
