package kubernetes_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/kubernetes/kubetest"
)

// The network of the holder stands still, time and again.
func TestPartitionedHolder(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	var doors [2]locks.Lock
	var nets [2]*lines
	for i := range doors {
		nets[i] = newLines(t, server.Addr())
		doors[i] = drill.Door(t, open(t, "p", 2, nets[i].client(server.Client())), fmt.Sprint("owner ", i))
	}
	rounds := 4
	if testing.Short() {
		rounds = 2
	}
	drill.StalledHolders(t, rounds, doors, func(i int) { nets[i].part() }, func(i int) { nets[i].join() })
}

// A server that hangs longer than a lease lasts costs the lease, and nothing else.
func TestHang(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	l := drill.Door(t, open(t, "p", 1, server.Client()), "me")
	lost := drill.Acquire(t, l)
	server.Pause()
	began := time.Now()
	if err := drill.Told(t, lost); !errors.Is(err, locks.ErrNotHeld) {
		t.Error("the loss:", err)
	}
	if late := time.Since(began); late > 2*time.Second {
		t.Errorf("the loss of a lease of 1 s is told after %v", late)
	}
	if !l.Until().IsZero() {
		t.Error("Until is", l.Until())
	}
	server.Resume()
	drill.Eventually(t, "it is acquired again", func() bool {
		ok, _ := l.Acquire(t.Context(), nil)
		return ok
	})
}

// A call on a server that hangs is given up, and says what to do.
func TestHungCall(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	l := drill.Door(t, open(t, "p", 15, server.Client()), "me")
	drill.Acquire(t, l)
	server.Pause()
	defer server.Resume()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := l.Save(ctx, []byte("x"))
	says(t, err, locks.ErrUnusable, "the API server has not answered in time")
	says(t, err, context.DeadlineExceeded, "get configmaps")
}

// A server that ends and comes back within the TTL costs nothing. Records are still there.
func TestRestart(t *testing.T) {
	t.Parallel()
	const ttl = 4
	server := kubetest.Start(t)
	s := open(t, "p", ttl, server.Client())
	l := drill.Door(t, s, "me")
	lost := drill.Acquire(t, l)
	if err := l.Save(t.Context(), []byte("before")); err != nil {
		t.Fatal(err)
	}
	server.Stop()
	_, err := drill.Door(t, s, "other").Acquire(t.Context(), nil)
	says(t, err, locks.ErrUnusable, "NetworkPolicy")
	server.Restart(t)
	drill.Renewed(t, l, ttl*time.Second)
	if got, err := l.Load(t.Context()); string(got) != "before" || err != nil {
		t.Errorf("the record is %q, %v", got, err)
	}
	if ok, err := drill.Door(t, s, "other").Acquire(t.Context(), nil); ok || err != nil {
		t.Errorf("another acquires: %t, %v", ok, err)
	}
	kept(t, lost)
}

// A server that sheds load, and one that fails, cost no lease while that is shorter than the lease.
func TestThrottling(t *testing.T) {
	t.Parallel()
	const ttl = 4
	server := kubetest.Start(t)
	l := drill.Door(t, open(t, "p", ttl, server.Client()), "me")
	lost := drill.Acquire(t, l)
	server.Throttle(1, time.Second)
	says(t, l.Save(t.Context(), []byte("x")), locks.ErrUnusable, "asks to wait 1s")
	before := server.Served()
	server.Throttle(1, 0)
	says(t, l.Save(t.Context(), []byte("x")), locks.ErrUnusable, "API Priority and Fairness")
	if made := server.Served() - before; made > 2 { // a renewal may be among them
		t.Errorf("a call is made %d times", made)
	}
	server.Throttle(2, time.Second)
	drill.Renewed(t, l, ttl*time.Second)
	server.Fail(3)
	drill.Renewed(t, l, ttl*time.Second)
	kept(t, lost)
	server.Fail(1)
	says(t, l.Save(t.Context(), []byte("x")), locks.ErrUnusable, "reaches its etcd")
}

// A renewal waits for as long as the server asks, if the lease lasts.
func TestRenewalsObeyTheServer(t *testing.T) {
	t.Parallel()
	const ttl, refusals = 8, 2
	server := kubetest.Start(t)
	l := drill.Door(t, open(t, "p", ttl, server.Client()), "me")
	lost := drill.Acquire(t, l)
	before := server.Served()
	server.Throttle(refusals, time.Second)
	drill.Eventually(t, "a renewal is refused", func() bool { return server.Served() > before })
	began := time.Now()
	drill.Renewed(t, l, ttl*time.Second)
	if took := time.Since(began); took < refusals*time.Second-100*time.Millisecond {
		t.Errorf("after %d refusals that ask to wait 1 s each it is renewed within %v", refusals, took)
	}
	kept(t, lost)
}

// An object that is removed, or taken, is a lost lease. One that is written by something else is not.
func TestReplaced(t *testing.T) {
	t.Parallel()
	const ttl = 3
	server := kubetest.Start(t)
	s := open(t, "p", ttl, server.Client())
	spec := func(o map[string]any) map[string]any { return o["spec"].(map[string]any) }
	for what, harm := range map[string]func(name string){
		"removed": func(name string) { server.Remove("leases", name) },
		"taken": func(name string) {
			server.Edit(t, "leases", name, func(o map[string]any) { spec(o)["holderIdentity"] = "other" })
		},
		"freed": func(name string) {
			server.Edit(t, "leases", name, func(o map[string]any) { delete(spec(o), "holderIdentity") })
		},
		"made again": func(name string) {
			o := server.Object(t, "leases", name)
			server.Remove("leases", name)
			server.Put(t, "leases", name, o)
		},
	} {
		t.Run(what, func(t *testing.T) {
			l := drill.Door(t, s, "me")
			lost := drill.Acquire(t, l)
			name := leaseOf(server)
			server.Edit(t, "leases", name, func(o map[string]any) {
				o["metadata"].(map[string]any)["labels"] = map[string]string{"seen": "by an operator"}
			})
			drill.Renewed(t, l, ttl*time.Second)
			kept(t, lost)
			harm(name)
			if err := drill.Told(t, lost); !errors.Is(err, locks.ErrNotHeld) || !errors.Is(err, locks.ErrReplaced) {
				t.Error("the loss:", err)
			}
			if err := l.Save(t.Context(), nil); !errors.Is(err, locks.ErrNotHeld) {
				t.Error("saved:", err)
			}
			server.Remove("leases", name)
		})
	}
}

// A lease whose object was removed goes on with a higher fence than that of the record, and the earlier holder
// saves nothing after the next one has used the record.
func TestFenceOutlivesTheObject(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	a, b := drill.Door(t, open(t, "p", 15, server.Client()), "a"), drill.Door(t, open(t, "p", 15, server.Client()), "b")
	for range 3 { // fences 1 to 3
		drill.Acquire(t, a)
		if err := errors.Join(a.Save(t.Context(), []byte("of a")), a.Release(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	drill.Acquire(t, a)
	if err := a.Save(t.Context(), []byte("of a")); err != nil {
		t.Fatal(err)
	}
	server.Remove("leases", leaseOf(server))
	drill.Acquire(t, b)
	if got, err := b.Load(t.Context()); string(got) != "of a" || err != nil {
		t.Fatalf("loaded %q, %v", got, err)
	}
	if err := a.Save(t.Context(), []byte("late")); !errors.Is(err, locks.ErrNotHeld) {
		t.Error("the earlier holder saves:", err)
	}
	if got, err := b.Load(t.Context()); string(got) != "of a" || err != nil {
		t.Errorf("loaded %q, %v", got, err)
	}
	o := server.Object(t, "leases", leaseOf(server))
	if n := o["spec"].(map[string]any)["leaseTransitions"]; n != 5.0 {
		t.Errorf("the fence is %v, after 4", n)
	}
}
