package sharding

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/bubble"
)

// A caller that waits in vain on a node without a lease is told so.
func TestAskWithoutALease(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g, lease := localRegion(t, cartType(&cartLog{}))
		g.plane.Timeouts.Ask = time.Second
		ask := func() error {
			_, err := Ask(t.Context(), g.Ref("cart-42"), total{})
			return err
		}
		if err := ask(); err != nil {
			t.Fatal(err)
		}
		lease.lost.Store(true)
		if err := ask(); !errors.Is(err, ErrTimeout) || !strings.Contains(err.Error(), "this node holds no lease") {
			t.Error(err)
		}
		lease.lost.Store(false)
		if err := ask(); err != nil {
			t.Error(err)
		}
	})
}
