package sharding

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
)

// A type that is started under a second role, on nodes that have no role in common with the first,
// is refused there: it runs no entity, and both roles are named. When the first role's node has
// gone, it runs.
func TestSecondRoleIsRefused(t *testing.T) {
	roles := []string{"orders", "stock"}
	nodes := ddatatest.StartWith(t, 2, func(i int, c *ddata.Config) { c.Roles = []string{roles[i]} })
	first, second := &cartLog{}, &cartLog{}
	typ := cartType(first)
	typ.Role = roles[0]
	askThirty(t, "the first role", begin(t, nodes[0], typ))
	typ = cartType(second)
	typ.Role = roles[1]
	g := begin(t, nodes[1], typ)
	eventually(t, "both roles are named", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := Ask(ctx, g.Ref("e1"), total{})
		return strings.Contains(fmt.Sprint(err), "Role is stock here and orders with the coordinator")
	})
	if n := second.made.Load(); n != 0 {
		t.Errorf("%d entities live a second time", n)
	}
	if h := nodes[1].Health(); h.Ready || !strings.Contains(h.String(), "Role is stock here") {
		t.Errorf("health: %v", h)
	}
	if err := nodes[0].Leave(within(t, 20*time.Second)); err != nil {
		t.Error(err)
	}
	askThirty(t, "the second role, when the first is gone", g)
	if h := nodes[1].Health(); !h.Ready {
		t.Errorf("health when the first is gone: %v", h)
	}
}
