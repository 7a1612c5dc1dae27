// Command limiter limits how many requests a client may make, whichever node they reach: an entity for
// each client holds a bucket of tokens. It is exact, and costs a hop within the cluster. A limiter that
// has seen nothing until its bucket is full is passivated.
//
//	go run ./examples/limiter
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/examples/local"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/passivation"
)

// A client has a burst of requests, and gets one more each interval.
const (
	burst    = 5
	interval = 10 * time.Second
)

// Allow asks for one request, and is answered whether it may be made.
type Allow struct{ sharding.Returns[Allow, bool] }

// Bucket is the entity of one client. It keeps its state in memory only: when it starts again, on
// whatever node, it is full.
type Bucket struct {
	tokens float64
	at     time.Time // when tokens were counted
}

// Receive implements sharding.Entity.
func (b *Bucket) Receive(ctx *sharding.Context[Allow], _ Allow) error {
	now := time.Now()
	b.tokens = min(burst, b.tokens+now.Sub(b.at).Seconds()/interval.Seconds())
	b.at = now
	if b.tokens < 1 {
		return ctx.Reply(false)
	}
	b.tokens--
	return ctx.Reply(true)
}

// start starts the limiters on a node.
func start(n *ddata.Node) (*sharding.Region[Allow], error) {
	return sharding.Start(n, sharding.EntityType[Allow]{
		Identity:    sharding.Identity{Name: "Limiter", Role: "front"},
		Messages:    sharding.CBOR[Allow](Allow{}),
		New:         func(*sharding.Context[Allow]) sharding.Entity[Allow] { return &Bucket{burst, time.Now()} },
		Passivation: sharding.Passivation{Strategy: passivation.Strategy{IdleTimeout: burst * interval}},
	})
}

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer) error {
	cfg := ddata.Config{Name: "api", Roles: []string{"front"}}
	return local.Run(3, cfg, start, func(ctx context.Context, _ []*ddata.Node, on []*sharding.Region[Allow]) error {
		for _, client := range []string{"alice", "bob"} {
			allowed := 0
			for i := range 8 { // each request comes to another node
				ok, err := sharding.Ask(ctx, on[i%3].Ref(client), Allow{})
				if err != nil {
					return err
				}
				if ok {
					allowed++
				}
			}
			fmt.Fprintf(out, "%s: %d of 8 requests are allowed\n", client, allowed)
		}
		return nil
	})
}
