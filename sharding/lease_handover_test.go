package sharding

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/sharding/control"
	"github.com/coterie-go/coterie/sharding/dataplane/lease"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// The coordinator acts under its lease only: that of the second cluster waits, and one that loses
// it steps down, and begins anew when it gets it again.
func TestCoordinatorLease(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		store := locks.NewMemory()
		with := func() (EntityType[message_], *noted) {
			typ, seen := leased(nil)
			typ.Leases.Coordinator = store
			return typ, seen
		}
		typ, seen := with()
		one := start(w.join("backend"), typ)
		w.install()
		if _, err := Ask(within(t, time.Minute), one.Ref("a"), total{}); err != nil {
			t.Fatal(err)
		}
		other := newWorld(t)
		typ2, seen2 := with()
		two := start(other.join("backend"), typ2)
		other.install()
		if _, err := Ask(within(t, 20*time.Second), two.Ref("a"), total{}); !errors.Is(err, ErrTimeout) ||
			seen2.count(protocol.CoordinatorLeaseAwaited) != 1 {
			t.Errorf("the second cluster: %v, %v", err, seen2.events)
		}
		if err := two.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		store.Take(lease.CoordinatorName("", "Cart"))
		synctest.Wait()
		if seen.count(protocol.CoordinatorLeaseLost) != 1 || seen.count(protocol.CoordinatorStopped) != 1 {
			t.Errorf("%v", seen.events)
		}
		if _, err := Ask(within(t, time.Minute), one.Ref("somebody else"), total{}); err != nil {
			t.Errorf("after the loss: %v", err)
		}
		if seen.count(protocol.CoordinatorStarted) != 2 {
			t.Errorf("%v", seen.events)
		}
	})
}

// The oldest node leaves as planned: it has given the coordinator's lease back before the others
// know, so the next coordinator acts at once. A store that does not answer keeps the node for a
// moment only.
func TestPlannedLeaveOfTheCoordinator(t *testing.T) {
	for name, stuck := range map[string]bool{"store answers": false, "store stands still": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				store := locks.NewMemory()
				typ, _ := leased(nil)
				typ.Leases.Coordinator = &stuckStore{store, func(ctx context.Context) error {
					if stuck {
						<-ctx.Done()
					}
					return nil
				}}
				a := w.join("backend")
				start(a, typ)
				b := start(w.join("backend"), typ)
				w.install()
				if _, err := Ask(within(t, time.Minute), b.Ref("a"), total{}); err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				if err := w.leaves(a, time.Minute); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took > 2*control.ResignTimeout {
					t.Errorf("leaving took %v", took)
				}
				began = time.Now()
				if _, err := Ask(within(t, time.Minute), b.Ref("somebody new"), total{}); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took > time.Second/2 && !stuck {
					t.Errorf("a new shard after %v", took)
				}
			})
		})
	}
}

// A shard that moves as planned is not told as stopped before its lease is given back: its next
// home need not wait until it tries again. A store that takes longer than one interval is not
// waited for.
func TestPlannedMoveGivesTheLeaseBackFirst(t *testing.T) {
	for name, c := range map[string]struct{ answers, most time.Duration }{
		"a store far away":        {20 * time.Millisecond, 100 * time.Millisecond},
		"a store that takes long": {2 * time.Second, 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				typ, seen := leased(&stuckStore{locks.NewMemory(), func(ctx context.Context) error {
					select {
					case <-time.After(c.answers):
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				}})
				typ.Shards, typ.Leases.RetryInterval = 1, time.Second
				a := w.join("backend")
				start(a, typ)
				b := start(w.join("backend"), typ)
				w.install()
				ctx := within(t, time.Minute)
				if _, err := Ask(ctx, b.Ref("a"), total{}); err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				if err := w.leaves(a, time.Minute); err != nil {
					t.Fatal(err)
				}
				if _, err := Ask(ctx, b.Ref("a"), total{}); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took > c.most {
					t.Errorf("the next home answers after %v", took)
				}
				if n := seen.count(protocol.LeaseAwaited); n > 0 && c.answers < time.Second {
					t.Errorf("it waited for the lease %d times", n)
				}
			})
		})
	}
}

// laterCart keeps the duty to answer for others.
type laterCart struct{ duty chan Responder }

func (k laterCart) Receive(c *Context[message_], msg message_) error {
	if !c.Asked() {
		return nil
	}
	l, err := c.Responder()
	k.duty <- l
	return err
}

// An answer that comes when the shard has stopped in order reaches its asker. One that comes after
// its lease was lost does not, and its asker is told at once.
func TestLaterAfterTheLease(t *testing.T) {
	for name, lost := range map[string]bool{"given back": false, "lost": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				store := locks.NewMemory()
				typ, _ := leased(store)
				duty := make(chan Responder, 1)
				typ.New = func(*Context[message_]) Entity[message_] { return laterCart{duty} }
				g := start(w.join("backend"), typ)
				w.install()
				type answer struct {
					n   int
					err error
				}
				got := make(chan answer, 1)
				began := time.Now()
				go func() {
					n, err := Ask(within(t, time.Minute), g.Ref("a"), total{})
					got <- answer{n, err}
				}()
				l := <-duty
				if lost {
					store.Take(lease.ShardName("", "Cart", g.plane.Routes.ShardOf("a")))
					synctest.Wait()
				} else if err := g.StopShards(within(t, time.Minute), g.ShardOf("a")); err != nil {
					t.Fatal(err)
				}
				err := l.Reply(7)
				a := <-got
				if lost && (!errors.Is(err, ErrNoLease) || !errors.Is(a.err, ErrNoLease) ||
					time.Since(began) > 10*time.Second) {
					t.Errorf("Reply: %v; the asker got %v after %v", err, a, time.Since(began))
				}
				if !lost && (err != nil || a != answer{n: 7}) {
					t.Errorf("Reply: %v; the asker got %v", err, a)
				}
			})
		})
	}
}
