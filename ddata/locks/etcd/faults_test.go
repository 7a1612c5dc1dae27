package etcd_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/etcd/etcdtest"
)

// The network of the holder stands still, time and again.
func TestStalledHolder(t *testing.T) {
	t.Parallel()
	addr := etcdtest.Start(t, 1).Members[0].Addr()
	var doors [2]locks.Lock
	var proxies [2]*etcdtest.Proxy
	for i := range doors {
		proxies[i] = etcdtest.NewProxy(t, addr)
		doors[i] = drill.Door(t, open(t, "p", 2, []string{proxies[i].Addr()}), fmt.Sprint("owner ", i))
	}
	rounds := 5
	if testing.Short() {
		rounds = 2
	}
	drill.StalledHolders(t, rounds, doors, func(i int) { proxies[i].Stall() }, func(i int) { proxies[i].Flow() })
}

// A server that hangs longer than a lease lasts costs the lease, and nothing else.
func TestHang(t *testing.T) {
	t.Parallel()
	m := etcdtest.Start(t, 1).Members[0]
	l := drill.Door(t, open(t, "p", 1, []string{m.Addr()}), "me")
	lost := drill.Acquire(t, l)
	if err := m.Pause(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := l.Save(t.Context(), []byte("x")); !errors.Is(err, locks.ErrUnusable) || time.Since(began) > limit/4 {
		t.Errorf("a save after %v: %v", time.Since(began), err)
	}
	if err := drill.Told(t, lost); !errors.Is(err, locks.ErrNotHeld) {
		t.Error("the loss:", err)
	}
	if late := time.Since(began); late > 2*time.Second {
		t.Errorf("the loss of a lease of 1 s is told after %v", late)
	}
	if !l.Until().IsZero() {
		t.Error("Until is", l.Until())
	}
	if err := m.Resume(); err != nil {
		t.Fatal(err)
	}
	drill.Eventually(t, "it is acquired again", func() bool {
		ok, _ := l.Acquire(t.Context(), nil)
		return ok
	})
}

// A server that is killed and comes back within the TTL costs nothing. Records are durable.
func TestKillAndRestart(t *testing.T) {
	t.Parallel()
	const ttl = 8
	m := etcdtest.Start(t, 1).Members[0]
	s := open(t, "p", ttl, []string{m.Addr()})
	l := drill.Door(t, s, "me")
	lost := drill.Acquire(t, l)
	if err := l.Save(t.Context(), []byte("before")); err != nil {
		t.Fatal(err)
	}
	m.Kill()
	if err := m.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	drill.Renewed(t, l, ttl*time.Second)
	if got, err := l.Load(t.Context()); string(got) != "before" || err != nil {
		t.Errorf("the record is %q, %v", got, err)
	}
	if ok, err := drill.Door(t, s, "other").Acquire(t.Context(), nil); ok || err != nil {
		t.Errorf("another acquires: %t, %v", ok, err)
	}
	if len(lost) > 0 {
		t.Error("lost:", <-lost)
	}
}

// Connections that are cut cost nothing.
func TestCut(t *testing.T) {
	t.Parallel()
	const ttl = 4
	p := etcdtest.NewProxy(t, etcdtest.Start(t, 1).Members[0].Addr())
	l := drill.Door(t, open(t, "p", ttl, []string{p.Addr()}), "me")
	lost := drill.Acquire(t, l)
	for range 2 {
		p.Cut()
		drill.Renewed(t, l, ttl*time.Second)
	}
	if len(lost) > 0 {
		t.Error("lost:", <-lost)
	}
}

// The holder stays when the leader of etcd changes, in order and by a kill.
func TestLeaderChange(t *testing.T) {
	t.Parallel()
	const ttl = 6
	c := etcdtest.Start(t, 3)
	client := etcdtest.Dial(t, c.Addrs())
	s := open(t, "p", ttl, c.Addrs())
	a, b := drill.Door(t, s, "a"), drill.Door(t, s, "b")
	defer drill.Detect(t, a, b)()
	lost := drill.Acquire(t, a)
	leads, err := c.Leader(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range c.Members {
		if m == leads {
			next, err := client.Status(t.Context(), c.Members[(i+1)%3].Addr())
			if err != nil {
				t.Fatal(err)
			}
			direct := etcdtest.Dial(t, []string{m.Addr()})
			if _, err := direct.MoveLeader(t.Context(), next.Header.MemberId); err != nil {
				t.Fatal(err)
			}
		}
	}
	drill.Renewed(t, a, ttl*time.Second)
	drill.Eventually(t, "there is a leader", func() bool {
		leads, err = c.Leader(t.Context(), client)
		return err == nil
	})
	leads.Kill()
	drill.Renewed(t, a, ttl*time.Second)
	drill.Eventually(t, "it is saved", func() bool { return a.Save(t.Context(), []byte("x")) == nil })
	var denied bool
	drill.Eventually(t, "etcd answers the other one", func() bool {
		denied, err = b.Acquire(t.Context(), nil)
		return err == nil
	})
	if denied {
		t.Error("there are two holders")
	}
	if len(lost) > 0 {
		t.Error("lost:", <-lost)
	}
}

// The holder stays when the leader of etcd hangs, and another member leads.
func TestHungLeader(t *testing.T) {
	t.Parallel()
	const ttl = 6
	c := etcdtest.Start(t, 3)
	l := drill.Door(t, open(t, "p", ttl, c.Addrs()), "me")
	lost := drill.Acquire(t, l)
	leads, err := c.Leader(t.Context(), etcdtest.Dial(t, c.Addrs()))
	if err != nil {
		t.Fatal(err)
	}
	if err := leads.Pause(); err != nil {
		t.Fatal(err)
	}
	drill.Renewed(t, l, ttl*time.Second)
	if err := leads.Resume(); err != nil {
		t.Fatal(err)
	}
	drill.Renewed(t, l, ttl*time.Second)
	if len(lost) > 0 {
		t.Error("lost:", <-lost)
	}
}

// A key that is removed, or replaced, is a lost lease.
func TestReplaced(t *testing.T) {
	t.Parallel()
	addrs := etcdtest.Start(t, 1).Addrs()
	client := etcdtest.Dial(t, addrs)
	s := open(t, "p", 1, addrs)
	for what, harm := range map[string]func(lease clientv3.LeaseID) error{
		"removed": func(clientv3.LeaseID) error {
			_, err := client.Delete(t.Context(), "p/leases/x")
			return err
		},
		"replaced": func(clientv3.LeaseID) error {
			_, err := client.Txn(t.Context()).Then(clientv3.OpDelete("p/leases/x")).Commit()
			if err == nil {
				_, err = client.Put(t.Context(), "p/leases/x", "mine")
			}
			return err
		},
		"written over": func(clientv3.LeaseID) error {
			_, err := client.Put(t.Context(), "p/leases/x", "mine")
			return err
		},
		"revoked": func(lease clientv3.LeaseID) error {
			_, err := client.Revoke(t.Context(), lease)
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			l := drill.Door(t, s, "me")
			lost := drill.Acquire(t, l)
			got, err := client.Get(t.Context(), "p/leases/x")
			if err != nil {
				t.Fatal(err)
			}
			if err := harm(clientv3.LeaseID(got.Kvs[0].Lease)); err != nil {
				t.Fatal(err)
			}
			if err := drill.Told(t, lost); !errors.Is(err, locks.ErrNotHeld) || !errors.Is(err, locks.ErrReplaced) {
				t.Error("the loss:", err)
			}
			if err := l.Save(t.Context(), nil); !errors.Is(err, locks.ErrNotHeld) {
				t.Error("saved:", err)
			}
			if _, err := client.Delete(t.Context(), "p/leases/x"); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A key that was written over with a value like that of a holder has no lease, and stays. That is said,
// instead of that there is a holder. A former holder leaves it alone.
func TestWrittenOver(t *testing.T) {
	t.Parallel()
	addrs := etcdtest.Start(t, 1).Addrs()
	client := etcdtest.Dial(t, addrs)
	l := drill.Door(t, open(t, "p", 1, addrs), "me")
	lost := drill.Acquire(t, l)
	got, err := client.Get(t.Context(), "p/leases/x")
	if err != nil {
		t.Fatal(err)
	}
	put(t, client, "p/leases/x", string(got.Kvs[0].Value))
	if err := l.Save(t.Context(), []byte("x")); !errors.Is(err, locks.ErrNotHeld) {
		t.Error("saved:", err)
	}
	if err := drill.Told(t, lost); !errors.Is(err, locks.ErrReplaced) {
		t.Error("the loss:", err)
	}
	_, err = l.Acquire(t.Context(), nil)
	says(t, err, locks.ErrForeign, "it has no lease")
	if _, err := client.Delete(t.Context(), "p/leases/x"); err != nil {
		t.Fatal(err)
	}
	drill.Acquire(t, l)
}
