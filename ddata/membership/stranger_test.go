package membership

import (
	"errors"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/record"
)

// TestAddressOfAMemberIsUsedAgain: all nodes of a cluster have stopped. Meanwhile a node of another
// cluster of the same name was started at the address of one of them, which comes back elsewhere.
// They all know that address, as a seed or from their disks. They pass that node over and found
// their cluster anew.
func TestAddressOfAMemberIsUsedAgain(t *testing.T) {
	for _, seeds := range [][]string{{"a", "b", "c"}, {"a", "b", "d"}} {
		w := newWorld(t, 31, LAN())
		w.found(3)
		ours := w.living()[0].m.View().Cluster
		for _, n := range w.living() {
			n.crash()
		}
		w.disks["d"] = w.disks["c"]
		delete(w.disks, "c")
		other := w.start("c", func(c *Config) { c.Seeds, c.BootstrapExpect, c.Disk = nil, 1, 77 })
		if !w.until(time.Second, func() bool { return other.m.View() != nil }) {
			t.Fatal("the other cluster was not founded")
		}
		w.base.Seeds = seeds
		ns := []*node{w.start("a", nil), w.start("b", nil), w.start("d", func(c *Config) { c.Disk = diskOf("c") })}
		w.run(20 * time.Second)
		for _, n := range ns {
			if v := n.m.View(); v == nil || v.Cluster != ours || len(v.Members) != 3 || n.done != nil {
				t.Errorf("seeds %v: %v has %v, ended with %v, waits for %q", seeds, n, v, n.done, n.waiting)
			}
		}
		if len(other.m.View().Members) != 1 {
			t.Errorf("seeds %v: the other cluster has %v", seeds, other.m.View())
		}
	}
}

// TestStrangersAtAllSeeds: when members of another cluster answer at all seeds, the operator has
// named that one. The node ends and says so. It does not when one seed has not answered.
func TestStrangersAtAllSeeds(t *testing.T) {
	for _, silent := range []bool{false, true} {
		w := newWorld(t, 32, LAN())
		w.found(2)
		w.disks["x"] = record.Record{Last: sampleView()}.Encode()
		n := w.start("x", func(c *Config) {
			c.Seeds = []string{"x", "a", "b"}
			if silent {
				c.Seeds = append(c.Seeds, "absent")
			}
		})
		w.run(10 * time.Second)
		if ended := errors.Is(n.done, ErrRefused); ended == silent {
			t.Errorf("one seed silent: %v; it ended with %v", silent, n.done)
		}
		if silent && len(n.waiting) == 0 {
			t.Error("it does not say what it waits for")
		}
	}
}
