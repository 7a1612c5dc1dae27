package simtest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/proptest/simtest"
)

// bills stands for a service outside of the cluster: the numbers of all bills, and the highest token that it
// was shown. It refuses lower ones, also to those that only read: what they read may change before they write.
type bills struct {
	numbers []int
	token   ddata.FencingToken
}

func (b *bills) enter(token ddata.FencingToken) error {
	if token.Less(b.token) {
		return fmt.Errorf("token %v is over", token)
	}
	b.token = token
	return nil
}

// billing is a singleton that writes a bill now and then, and what must hold of them all.
func billing() simtest.Singleton {
	var all bills
	return simtest.Singleton{
		Begin: func() { all = bills{} },
		Run: func(ctx context.Context, n *simtest.Node, token ddata.FencingToken) error {
			for {
				var last int
				err := n.Call(ctx, func() error {
					last = len(all.numbers)
					return all.enter(token)
				})
				if err == nil {
					err = n.Call(ctx, func() error {
						if err := all.enter(token); err != nil {
							return err
						}
						all.numbers = append(all.numbers, last+1)
						return nil
					})
				}
				if err == nil {
					err = n.Wait(ctx, time.Second)
				}
				if err != nil {
					return err // it is started again
				}
			}
		},
		Invariant: func() error {
			for i, number := range all.numbers {
				if number != i+1 {
					return fmt.Errorf("bill %d has the number %d", i+1, number)
				}
			}
			return nil
		},
	}
}

// A singleton is run on simulated nodes that fail, in a test:
func ExampleSingleton() {
	_ = func(t *testing.T) { billing().Check(t) }
}
