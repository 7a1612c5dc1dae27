package kubernetes_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/kubernetes"
	"github.com/coterie-go/coterie/ddata/locks/kubernetes/kubetest"
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
const limit = 30 * time.Second

var drill = lockstest.Drill{Limit: limit}

// config says where a store is that has leases of leases of so many seconds.
func config(prefix string, ttl int) kubernetes.Config {
	return kubernetes.Config{
		Namespace: kubetest.Namespace, Prefix: prefix, TTL: time.Duration(ttl) * time.Second, Timeout: 10 * time.Second,
	}
}

// open opens a store of leases of so many seconds, as a client of its own.
func open(t testing.TB, prefix string, ttl int, client *rest.Config) *kubernetes.Store {
	t.Helper()
	s, err := kubernetes.Open(t.Context(), client, config(prefix, ttl))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// kept fails the test if the loss was told.
func kept(t testing.TB, lost chan error) {
	t.Helper()
	if len(lost) > 0 {
		t.Error("lost:", <-lost)
	}
}

func TestLockLaws(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	prefix := ""
	lockstest.Run(t, func(t testing.TB) (one, other locks.Store) {
		prefix += "p"
		return open(t, prefix, 15, server.Client()), open(t, prefix, 15, server.Client())
	})
}

// A real API server, which COTERIE_KUBERNETES_API names, keeps leases as well: such as that of kubectl proxy, with a
// namespace shop.
func TestLockLawsOfARealServer(t *testing.T) {
	url := os.Getenv("COTERIE_KUBERNETES_API")
	if url == "" {
		t.Skip("NOT TRIED: COTERIE_KUBERNETES_API names no API server") // skip: machines seldom have Kubernetes
	}
	prefix := fmt.Sprint("test-", time.Now().UnixMilli())
	lockstest.Run(t, func(t testing.TB) (one, other locks.Store) {
		prefix += "p"
		return open(t, prefix, 15, &rest.Config{Host: url}), open(t, prefix, 15, &rest.Config{Host: url})
	})
}

// Several processes that open one prefix have one store, and another prefix is another one.
func TestIDs(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	const openers = 8
	ids := make(chan string, openers)
	for range openers {
		go func() {
			s, err := kubernetes.Open(t.Context(), server.Client(), kubernetes.Config{Namespace: kubetest.Namespace})
			if err != nil {
				t.Error(err)
				ids <- ""
				return
			}
			defer s.Close()
			ids <- s.ID()
		}()
	}
	first := <-ids
	for range openers - 1 {
		if id := <-ids; id != first || id == "" {
			t.Errorf("one prefix is %q and %q", first, id)
		}
	}
	if open(t, "other", 15, server.Client()).ID() == first {
		t.Error("two prefixes are one store")
	}
}

func TestHolderIsNamed(t *testing.T) {
	t.Parallel()
	s := open(t, "p", 15, kubetest.Start(t).Client())
	l, other := drill.Door(t, s, "ann\nand bob_1"), drill.Door(t, s, "carl")
	named := func() string { return other.(locks.Holder).Holder(t.Context()) }
	if got := named(); got != "" {
		t.Errorf("it was never held, and the holder is %q", got)
	}
	drill.Acquire(t, l)
	if got := named(); !strings.HasPrefix(got, "ann\nand bob_1, process ") {
		t.Errorf("ann and bob hold it, and it says %q", got)
	}
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := named(); got != "" {
		t.Errorf("it is free, and the holder is %q", got)
	}
}
