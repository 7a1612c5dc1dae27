package sharding

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/sharding/control"
	"github.com/coterie-go/coterie/sharding/dataplane/lease"
	"github.com/coterie-go/coterie/sharding/remember"
)

// A region that ends in the middle of its work gives every lease back, however it ends: a write of
// ids that the region is too late for holds none.
func TestEndUnderLoadGivesLeasesBack(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *fakeNode, *Region[message_]) error{
		"closed": func(t *testing.T, _ *fakeNode, g *Region[message_]) error {
			return g.Close(within(t, time.Minute))
		},
		"with the node": func(_ *testing.T, _ *fakeNode, g *Region[message_]) error {
			g.run.endWithNode(ddata.ErrClosed)
			return nil
		},
		"downed": func(_ *testing.T, n *fakeNode, g *Region[message_]) error {
			n.holdLease(false)
			for _, fn := range n.views {
				fn(nil)
			}
			g.run.endWithNode(ddata.ErrClosed)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				store := locks.NewMemory()
				typ := rememberingType(&cartLog{}, &remember.Memory{})
				typ.Leases.Shards = store
				n := w.join("backend")
				g, err := StartOn(n.ports(), typ)
				if err != nil {
					t.Fatal(err)
				}
				w.install()
				for i := range 100 {
					if _, err := Ask(within(t, time.Minute), g.Ref(fmt.Sprint("a", i)), total{}); err != nil {
						t.Fatal(err)
					}
				}
				goOn := make(chan struct{})
				g.run.control.Inbox.Do(func(*control.Plane, time.Time) { <-goOn })
				for i := range 100 {
					if err := g.Tell(t.Context(), fmt.Sprint("b", i), addItem{"x", 1}); err != nil {
						t.Fatal(err)
					}
				}
				ended := make(chan error, 1)
				go func() { ended <- end(t, n, g) }()
				synctest.Wait() // the region ends, and its loop has all that to do
				close(goOn)
				if err := <-ended; err != nil {
					t.Error(err)
				}
				for s := range uint32(16) {
					if !free(t, store, lease.ShardName("", "Cart", s)) {
						t.Errorf("the lease of shard %d is held", s)
					}
				}
			})
		})
	}
}

// stuckStore does not answer that a lease is given back before it is let, or says that it cannot
// be.
type stuckStore struct {
	locks.Store
	release func(context.Context) error
}

type stuckLease struct {
	locks.Lock
	store *stuckStore
}

func (s *stuckStore) Lock(name, owner string) (locks.Lock, error) {
	l, err := s.Store.Lock(name, owner)
	return &stuckLease{l, s}, err
}

func (l *stuckLease) Release(ctx context.Context) error {
	return errors.Join(l.store.release(ctx), l.Lock.Release(ctx))
}

// Close says which leases it could not give back in its time, or at all.
func TestCloseSaysWhatItDoesNotGiveBack(t *testing.T) {
	broken := errors.New("no way there")
	for name, c := range map[string]struct {
		release func(context.Context) error
		want    error
	}{
		"late":   {func(ctx context.Context) error { <-ctx.Done(); return nil }, context.DeadlineExceeded},
		"broken": {func(context.Context) error { return broken }, broken},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				typ, _ := leased(&stuckStore{locks.NewMemory(), c.release})
				g, err := StartOn(w.join("backend").ports(), typ)
				if err != nil {
					t.Fatal(err)
				}
				w.install()
				if _, err := Ask(within(t, time.Minute), g.Ref("a"), total{}); err != nil {
					t.Fatal(err)
				}
				err = g.Close(within(t, time.Second))
				want := lease.ShardName("", "Cart", g.plane.Routes.ShardOf("a"))
				if !errors.Is(err, c.want) || !strings.Contains(err.Error(), want) ||
					!strings.Contains(err.Error(), "1 leases") {
					t.Errorf("%v", err)
				}
				<-time.After(control.LeaseTimeout)
			})
		})
	}
}
