package etcd_test

import (
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

var drill = lockstest.Drill{Limit: limit}

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
