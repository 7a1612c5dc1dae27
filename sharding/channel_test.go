package sharding

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/sharding/dataplane"
)

// The names of these types have one 32-bit FNV-1a hash. Channels are wider, so that both run beside
// each other, and each alone on a node.
func TestTypesWithOneShortHash(t *testing.T) {
	const first, second = "Type-89828", "Type-490626"
	nodes := ddatatest.Start(t, "backend", "backend")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ask := func(r *Region[message_]) {
		t.Helper()
		for i := range 8 {
			if _, err := Ask(ctx, r.Ref(fmt.Sprint("cart-", i)), total{}); err != nil {
				t.Fatalf("%s: %v", r.Name(), err)
			}
		}
	}
	var regions []*Region[message_]
	for _, name := range []string{first, second} {
		for _, n := range nodes {
			typ := cartType(&cartLog{})
			typ.Name = name
			r, err := Start(n, typ)
			if err != nil {
				t.Fatal(err)
			}
			regions = append(regions, r)
		}
		for _, r := range regions {
			ask(r)
		}
	}
}

// A type whose channel another has on the node is refused, with both names.
func TestSecondTypeOfOneChannel(t *testing.T) {
	n := ddatatest.Start(t, "backend")[0]
	typ := cartType(&cartLog{})
	types := typesOf(n.Host())
	types.mu.Lock()
	types.absences[dataplane.ChannelOf(typ.Name)] = &absence{name: "Other"}
	types.mu.Unlock()
	_, err := Start(n, typ)
	if !errors.Is(err, ErrConfig) || !strings.Contains(fmt.Sprint(err), `"Other"`) ||
		!strings.Contains(fmt.Sprint(err), `"Cart"`) {
		t.Error(err)
	}
}
