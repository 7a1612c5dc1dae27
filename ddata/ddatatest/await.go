package ddatatest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// TB is what this package needs of a test: *testing.T, *testing.B, *testing.F and *rapid.T have it.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
	Failed() bool
	Cleanup(func())
}

// lookInterval is how often Eventually looks.
const lookInterval = 2 * time.Millisecond

// Eventually waits until look returns nil. After Patience the test fails, with what was waited for, and
// the last error, which should say what was seen. It is for states that cannot be watched: where
// something tells of a change, wait for that.
func Eventually(t TB, what string, look func() error) {
	t.Helper()
	late := time.NewTimer(Patience)
	defer late.Stop()
	again := time.NewTicker(lookInterval)
	defer again.Stop()
	for {
		err := look()
		if err == nil {
			return
		}
		select {
		case <-again.C:
		case <-late.C:
			t.Fatalf("ddatatest: waited %v in vain until %s; last seen: %v", Patience, what, err)
			return
		}
	}
}

// inVain says how the wait ended that ctx bounds.
func inVain(ctx context.Context) string {
	if ctx.Err() == nil {
		return "could not wait"
	}
	return fmt.Sprintf("waited %v in vain", Patience)
}

// AwaitMembers waits until a node has a view of n members, all of them Up.
func AwaitMembers(t TB, node *ddata.Node, n int) {
	t.Helper()
	AwaitView(t, node, fmt.Sprintf("there are %d members, all Up", n), func(v *view.View) bool {
		return len(v.Members) == n &&
			!slices.ContainsFunc(v.Members, func(m view.Member) bool { return m.Status != view.Up })
	})
}

// AwaitView waits until a node has a view as it is wanted. what says what that is, for the text of a
// failure.
func AwaitView(t TB, node *ddata.Node, what string, want func(*view.View) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	for v, err := range node.Watch(ctx) {
		if err != nil {
			t.Fatalf("ddatatest: node %s %s until %s: %v; last seen: view %v of %v; unreachable: %v; health: %v",
				node.Addr(), inVain(ctx), what, err, node.View().Epoch, node.Members(),
				slices.Sorted(maps.Keys(node.Unreachable())), node.Health())
			return
		}
		if want(v) {
			return
		}
	}
}

// AwaitValue waits until a replica has a value of a key for which want returns nil. Its error says what
// was seen instead, for the text of a failure. A key that holds nothing has the empty value.
func AwaitValue[V crdt.Value[V, T], T any](t TB, r *ddata.Replicator, key ddata.Key[V], want func(V) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	v, err := ddata.Get(ctx, r, key, ddata.ReadLocal)
	if err == nil {
		if err = want(v); err == nil {
			return
		}
	}
	seen := err
	for c, err := range ddata.Watch(ctx, r, key) {
		if err == nil {
			if seen = want(c.Value); seen == nil {
				return
			}
			continue
		}
		if ctx.Err() != nil || c.Key == "" {
			t.Fatalf("ddatatest: %s for key %q: %v; last seen: %v", inVain(ctx), key.Name(), err, seen)
			return
		}
		seen = err
	}
}
