package ddatatest_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/proptest/bubble"
)

// This is all that a test of a user's data needs: the minority of a cut is removed, and what the majority
// acknowledged is on the node that comes in its place.
func TestHits(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := ddatatest.NewCluster(t, 3, nil)
		c.Isolate(2)
		if err := hit(c.Replicator(0, ddata.DefaultRole), ddata.WriteMajority); err != nil {
			t.Fatal(err)
		}
		<-c.Node(2).Done()
		if err := c.Node(2).Err(); !errors.Is(err, ddata.ErrDowned) {
			t.Fatalf("the minority has ended with %v", err)
		}
		ddatatest.AwaitValue(t, c.Replicator(c.Join(), ddata.DefaultRole), hits, func(n crdt.GCounter) error {
			if n.Value() != 1 {
				return fmt.Errorf("%d hits", n.Value())
			}
			return nil
		})
	})
}
