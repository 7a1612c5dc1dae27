package etcd_test

import (
	"errors"
	"testing"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/etcd/etcdtest"
	"github.com/coterie-go/coterie/ddata/membership/downing"
)

// Three nodes with a store in etcd: when two end without a word, the third one goes on alone. It holds
// the lease then.
func TestLastOfThreeNodesGoesOn(t *testing.T) {
	t.Parallel()
	addrs := etcdtest.Start(t, 1).Addrs()
	nodes := ddatatest.StartWith(t, 3, func(_ int, c *ddata.Config) {
		c.Downing, c.Leases = downing.LeaseMajority{}, open(t, "p", 2, addrs)
	})
	for _, n := range nodes[:2] {
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
	}
	last := nodes[2]
	drill.Eventually(t, "the last node goes on alone", func() bool {
		return len(last.Members()) == 1 && last.HoldsLease()
	})
	l, err := open(t, "p", 2, addrs).Lock("members-test", "test")
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := l.Acquire(t.Context(), nil); ok || err != nil {
		t.Errorf("another gets the lease: %t, %v; it is held by %q", ok, err, l.(locks.Holder).Holder(t.Context()))
	}
	if err := errors.Join(last.Close(), l.Close()); err != nil {
		t.Error(err)
	}
}
