package etcd_test

import (
	"context"
	"flag"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/etcd"
	"github.com/coterie-go/coterie/ddata/locks/etcd/etcdtest"
	"github.com/coterie-go/coterie/ddata/locks/lockstest"
	"github.com/coterie-go/coterie/proptest/nodetest"
)

// Four tests run side by side, unless the command line says otherwise: they wait most of their time.
func TestMain(m *testing.M) {
	nodetest.Main(map[string]nodetest.Program{"leased": runLeased})
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// limit is how long a test waits for one thing; it is reached only when something is broken.
const limit = 20 * time.Second

// open opens a store of leases of so many seconds, as a client of its own.
func open(t testing.TB, prefix string, ttl int, addrs []string, changes ...func(*clientv3.Config)) *etcd.Store {
	t.Helper()
	s, err := etcd.Open(t.Context(), etcdtest.Dial(t, addrs, changes...), etcd.Config{
		Prefix: prefix, TTL: time.Duration(ttl) * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// door makes a door to the name x, which is closed when the test ends.
func door(t testing.TB, s locks.Store, owner string) locks.Lock {
	t.Helper()
	l, err := s.Lock("x", owner)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // the server may have ended
	return l
}

// acquire makes a door the holder, and returns what tells of the loss.
func acquire(t testing.TB, l locks.Lock) (lost chan error) {
	t.Helper()
	lost = make(chan error, 2)
	if ok, err := l.Acquire(t.Context(), func(err error) { lost <- err }); !ok || err != nil {
		t.Fatalf("acquired %t, %v", ok, err)
	}
	return lost
}

// eventually waits until something is so.
func eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for !so() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

// renewed waits for a renewal whose request was sent after this call.
func renewed(t testing.TB, l locks.Lock, ttl time.Duration) {
	t.Helper()
	want := time.Now().Add(ttl - ttl*3/100)
	eventually(t, "the lease is renewed", func() bool { return !l.Until().Before(want) })
}

// told waits for the loss.
func told(t testing.TB, lost chan error) error {
	t.Helper()
	select {
	case err := <-lost:
		return err
	case <-time.After(limit):
		t.Fatal("no loss was told")
		return nil
	}
}

func TestLockLaws(t *testing.T) {
	t.Parallel()
	addrs := etcdtest.Start(t, 1).Addrs()
	prefix := ""
	lockstest.Run(t, func(t testing.TB) (one, other locks.Store) {
		prefix += "p"
		return open(t, prefix, 15, addrs), open(t, prefix, 15, addrs)
	})
}

// Several processes that open one prefix have one store, and another prefix is another one.
func TestIDs(t *testing.T) {
	t.Parallel()
	addrs := etcdtest.Start(t, 1).Addrs()
	client := etcdtest.Dial(t, addrs)
	const openers = 8
	ids := make(chan string, openers)
	for range openers {
		go func() {
			s, err := etcd.Open(t.Context(), client, etcd.Config{})
			if err != nil {
				t.Error(err)
				ids <- ""
				return
			}
			ids <- s.ID()
		}()
	}
	first := <-ids
	for range openers - 1 {
		if id := <-ids; id != first || id == "" {
			t.Errorf("one prefix is %q and %q", first, id)
		}
	}
	if open(t, "other", 15, addrs).ID() == first {
		t.Error("two prefixes are one store")
	}
}
