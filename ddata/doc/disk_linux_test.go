package doc_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/replicator/operation"
)

// fillDisk has files grow no further than so many bytes. The store takes that for a full disk.
func fillDisk(t *testing.T, size uint64) (makeRoom func()) {
	t.Helper()
	var was syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was)
	set := func(to syscall.Rlimit) {
		if err = errors.Join(err, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &to)); err != nil {
			t.Fatal(err)
		}
	}
	set(syscall.Rlimit{Cur: size, Max: was.Max})
	makeRoom = func() { set(was) }
	t.Cleanup(makeRoom)
	return makeRoom
}

// drillFullDisk fills the disks of all nodes. Durable writes fail until there is room.
func drillFullDisk(t *testing.T, c *ddatatest.Cluster) {
	makeRoom := fillDisk(t, 1<<20)
	var err error
	written := 0
	for ; err == nil && written < 1000; written++ { // of 4 KB each
		err = order(t, c, 0, fmt.Sprint(written, strings.Repeat(" pen", 900)))
	}
	if !errors.Is(err, operation.ErrStoreFailure) || !strings.Contains(err.Error(), "make room") {
		t.Errorf("after %d orders: %v", written, err)
	}
	if live, ready := healthy(c); live != 3 || ready > 1 { // it has failed, so two disks have refused it
		t.Errorf("%d nodes are live and %d are ready", live, ready)
	}
	visits := ddata.NewKey[crdt.GCounter]("visits") // which is not durable
	err = ddata.Update(t.Context(), c.Replicator(0, ddata.DefaultRole), visits, ddata.WriteMajority,
		func(g *crdt.GCounterTx) error { return g.Increment(1) })
	if err != nil {
		t.Errorf("keys that are not durable have failed, too: %v", err)
	}
	makeRoom()
	if err := order(t, c, 0, "with room"); err != nil {
		t.Error(err)
	}
	ddatatest.Eventually(t, "all are ready", func() error {
		if _, ready := healthy(c); ready < 3 {
			return fmt.Errorf("%d are", ready)
		}
		return nil
	})
}

// healthy counts the nodes that are live, and those that may be sent requests.
func healthy(c *ddatatest.Cluster) (live, ready int) {
	for _, n := range c.Nodes() {
		h := n.Health()
		if h.Live {
			live++
		}
		if h.Ready {
			ready++
		}
	}
	return live, ready
}

func TestDrillFullDisk(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		drillFullDisk(t, ddatatest.NewCluster(t, 3, func(i int, c *ddata.Config) {
			c.Dir, c.DurableKeys = filepath.Join(dir, fmt.Sprint(i)), []string{"orders"}
		}))
	})
}
