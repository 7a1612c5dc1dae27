package ddata_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// rowsOf is how many rows the clock of a node's data has in the durable space.
func rowsOf(t *testing.T, n *ddata.Node) int {
	t.Helper()
	f, err := ddata.Figures(testContext(t), n, keyspace.Dataset{Role: "backend"})
	if err != nil {
		t.Fatal(err)
	}
	return f.Spaces[keyspace.Durable].Origins
}

// TestIncarnationsRetire restarts the nodes of a cluster again and again: the clocks stay short and the data
// stays. A copy of a directory from before is refused, and merges nothing; an empty one takes its place.
func TestIncarnationsRetire(t *testing.T) {
	const size, after = 3, 3
	addrs, dirs := freeAddrs(t, size), make([]string, size)
	settings := func(i int) ddata.Config {
		c := config(addrs[i], addrs, size)
		c.Dir, c.DurableKeys = dirs[i], []string{"k*"}
		return ddata.Retiring(c, after)
	}
	var all []ddata.Config
	for i := range size {
		dirs[i] = t.TempDir()
		all = append(all, settings(i))
	}
	nodes := startAll(t, all...)
	var told *watched // of the node that was started last
	old := filepath.Join(t.TempDir(), "copy")
	for round := range 4 {
		was := nodes[0].View().Ages.Agreed()
		for i := size - 1; i >= 0; i-- {
			mustAdd(t, nodes[i], "k", string(rune('a'+size*round+i)))
			mustClose(t, nodes[i])
			if round == 0 && i == 1 {
				if err := os.CopyFS(old, os.DirFS(dirs[1])); err != nil {
					t.Fatal(err)
				}
			}
			c := settings(i)
			told = watch(&c)
			nodes[i] = startAll(t, c)[0]
		}
		until(t, nodes[0], "incarnations have retired", func(v *view.View) bool {
			return v.Ages.Agreed() > was && !v.Ages.Runs()
		})
	}
	has(t, told, func(e events.RetirementBegan) bool { return e.View.Ages.Runs() })
	has(t, told, func(e events.RetirementEnded) bool { return e.View.Ages.Agreed() == nodes[0].View().Ages.Agreed() })
	for i, n := range nodes {
		for e := range 4 * size {
			if !holds(t, n, "k", string(rune('a'+e))) {
				t.Errorf("node %d lacks element %d", i, e)
			}
		}
		until(t, n, "the clock is short", func(*view.View) bool { return rowsOf(t, n) <= 2*(size+after)+1 })
	}
	mustClose(t, nodes[1])
	dirs[1] = old
	if n, err := ddata.Start(testContext(t), settings(1)); !errors.Is(err, ddata.ErrOutdated) {
		t.Fatalf("a copy of an old directory is taken: %v, %v", n, err)
	}
	dirs[1] = t.TempDir()
	n := startAll(t, settings(1))[0]
	if !holds(t, n, "k", "a") || !holds(t, nodes[0], "k", "a") {
		t.Error("an element is gone")
	}
}
