package doc_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/examples/local"
)

// durable is the configuration of a node whose sessions are lost with a stop of all nodes, and whose
// carts are not. Sessions that were not written for an hour go.
func durable(dir string) ddata.Config {
	return ddata.Config{
		Name: "shop", Roles: []string{"shop"},
		Dir: dir, DurableKeys: []string{"cart/*"},
		Expire: map[string]time.Duration{"session/*": time.Hour},
	}
}

// The carts are there after a stop of all nodes, and the sessions are not.
func TestDurable(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir := t.TempDir()
	sets := map[string]ddata.Key[crdt.ORSet[string]]{}
	for _, name := range []string{"cart/alice", "session/alice"} {
		sets[name] = ddata.NewKey[crdt.ORSet[string]](name)
	}
	for start, want := range []map[string][]string{
		{"cart/alice": nil, "session/alice": nil}, {"cart/alice": {"pen"}, "session/alice": nil},
	} {
		nodes, err := local.Start(ctx, 3, durable(dir))
		if err != nil {
			t.Fatal(err)
		}
		for i, n := range nodes {
			data, err := n.Replicator("shop")
			if err != nil {
				t.Fatal(err)
			}
			for name, key := range sets { // order: each key by itself
				set, err := ddata.Get(ctx, data, key, ddata.ReadMajority)
				if got := slices.Collect(set.All()); i == 0 && !slices.Equal(got, want[name]) || err != nil {
					t.Errorf("start %d: %s has %q, %v", start+1, name, got, err)
				}
				err = ddata.Update(ctx, data, key, ddata.WriteMajority, func(s *crdt.ORSetTx[string]) error {
					return s.Add("pen")
				})
				if err != nil {
					t.Error(err)
				}
			}
		}
		if err := local.Stop(ctx, nodes); err != nil {
			t.Fatal(err)
		}
	}
}
