package doc_test

import (
	"errors"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/proptest/bubble"
)

var orders = ddata.NewKey[crdt.GSet[string]]("orders")

// order writes an order to a majority of the replicas of a node.
func order(t *testing.T, c *ddatatest.Cluster, node int, id string) error {
	return ddata.Update(t.Context(), c.Replicator(node, ddata.DefaultRole), orders, ddata.WriteMajority,
		func(s *crdt.GSetTx[string]) error { return s.Add(id) })
}

// holds waits until a node has an order.
func holds(t *testing.T, c *ddatatest.Cluster, node int, id string) {
	t.Helper()
	ddatatest.AwaitValue(t, c.Replicator(node, ddata.DefaultRole), orders, func(s crdt.GSet[string]) error {
		if !s.Contains(id) {
			return errors.New("it is not there yet")
		}
		return nil
	})
}

// drillKill kills a node. What was acknowledged is there, and the others go on without it.
func drillKill(t *testing.T, c *ddatatest.Cluster) {
	if err := order(t, c, 2, "written just before"); err != nil {
		t.Fatal(err)
	}
	c.Kill(2)
	c.AwaitMembers(2, 0, 1)
	holds(t, c, 0, "written just before")
	if err := order(t, c, 0, "written after"); err != nil {
		t.Error(err)
	}
	c.Restart(2)
	holds(t, c, 2, "written after")
}

// drillCut cuts a node off. The majority removes it; it ends by itself, and comes back as a new member.
func drillCut(t *testing.T, c *ddatatest.Cluster) {
	alone := c.Node(2)
	c.Isolate(2)
	c.AwaitMembers(2, 0, 1)
	if err := order(t, c, 0, "written by the majority"); err != nil {
		t.Error(err)
	}
	<-alone.Done() // it has heard of no majority for too long
	if err := alone.Err(); !errors.Is(err, ddata.ErrDowned) {
		t.Errorf("it ended with %v", err)
	}
	c.HealAll()
	c.Kill(2) // its process ends, and is started again
	c.Restart(2)
	holds(t, c, 2, "written by the majority")
}

// drillPause stops a process for longer than its lease, as a host that is too busy does.
func drillPause(t *testing.T, c *ddatatest.Cluster) {
	slow := c.Node(2)
	c.Pause(2)
	c.AwaitMembers(2, 0, 1)
	c.Resume(2)
	<-slow.Done() // the others went on without it
	if slow.HoldsLease() {
		t.Error("it may still run entities")
	}
	c.Kill(2)
	c.Restart(2)
	c.AwaitMembers(3)
}

// drillRolling restarts one node after the other. No write fails.
func drillRolling(t *testing.T, c *ddatatest.Cluster) {
	for i := range c.Len() {
		c.Leave(i)
		if err := order(t, c, (i+1)%c.Len(), "written while one is away"); err != nil {
			t.Error(err)
		}
		c.Restart(i)
		c.AwaitMembers(c.Len())
	}
}

func TestDrills(t *testing.T) {
	for name, drill := range map[string]func(*testing.T, *ddatatest.Cluster){ // order: each has its own cluster
		"kill": drillKill, "cut": drillCut, "pause": drillPause, "rolling": drillRolling,
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) { drill(t, ddatatest.NewCluster(t, 3, nil)) })
		})
	}
}

// A cluster of which a majority is gone does not go on: each node ends after a while.
func TestDrillMajorityLost(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := ddatatest.NewCluster(t, 3, nil)
		last := c.Node(0)
		c.Kill(1)
		c.Kill(2)
		began := time.Now()
		<-last.Done()
		if err := last.Err(); !errors.Is(err, ddata.ErrDowned) {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}
