// Command cache keeps prices that are dear to find in the memory of all nodes. What one node has
// found, the others have a moment later, without a network hop when they need it. Prices that were not
// written for an hour expire.
//
//	go run ./examples/cache
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/examples/local"
)

// Prices is a cache on one node.
type Prices struct {
	data *ddata.Replicator
	find func(ctx context.Context, product string) (cents int, err error)
}

// priceOf is the key of one price. Of two that are written at one time, the later counts.
func priceOf(product string) ddata.Key[crdt.LWWRegister[int]] {
	return ddata.NewKey[crdt.LWWRegister[int]]("price/" + product)
}

// Get returns a price. It reads the node's own memory, and finds the price if it is not there. The
// write to the memory of the others goes on when Get has returned.
func (p *Prices) Get(ctx context.Context, product string) (int, error) {
	key := priceOf(product)
	known, err := ddata.Get(ctx, p.data, key, ddata.ReadLocal)
	if err != nil {
		return 0, err
	}
	if cents, ok := known.Get(); ok {
		return cents, nil
	}
	cents, err := p.find(ctx, product)
	if err != nil {
		return 0, err
	}
	return cents, ddata.Update(ctx, p.data, key, ddata.WriteLocal, func(r *crdt.LWWRegisterTx[int]) error {
		return r.Put(cents)
	})
}

// Forget removes a price from all nodes. A deletion removes what this node has seen, and a price that
// another has just found may not have come here yet: a majority is asked first. A write to a majority has
// the price gone where a reader asks a majority, too.
func (p *Prices) Forget(ctx context.Context, product string) error {
	key := priceOf(product)
	if _, err := ddata.Get(ctx, p.data, key, ddata.ReadMajority); err != nil {
		return err
	}
	return ddata.Delete(ctx, p.data, key, ddata.WriteMajority)
}

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer) error {
	var found atomic.Int32 // how often a price was found the dear way
	start := func(n *ddata.Node) (*Prices, error) {
		data, err := n.Replicator("shop")
		return &Prices{data, func(context.Context, string) (int, error) {
			found.Add(1)
			return 499, nil
		}}, err
	}
	return local.Run(3, ddata.Config{
		Name: "prices", Roles: []string{"shop"}, Expire: map[string]time.Duration{"price/*": time.Hour},
	}, start, func(ctx context.Context, _ []*ddata.Node, prices []*Prices) error {
		cents, err := prices[0].Get(ctx, "pen")
		if err != nil {
			return err
		}
		fmt.Fprintln(out, "node 1: a pen costs", cents, "cents; found", found.Load(), "time")

		// The others have it as soon as it has come to them. Watch waits for that here.
		for change, err := range ddata.Watch(ctx, prices[2].data, priceOf("pen")) {
			if err != nil {
				return err
			}
			if _, ok := change.Value.Get(); ok {
				break
			}
		}
		if cents, err = prices[2].Get(ctx, "pen"); err != nil {
			return err
		}
		fmt.Fprintln(out, "node 3: a pen costs", cents, "cents; found", found.Load(), "time")

		if err := prices[1].Forget(ctx, "pen"); err != nil {
			return err
		}
		if cents, err = prices[1].Get(ctx, "pen"); err != nil {
			return err
		}
		fmt.Fprintln(out, "node 2: forgot it, then found it again:", cents, "cents; found", found.Load(), "times")
		return nil
	})
}
