package drivers

import (
	"slices"
	"testing"

	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// What is said of a node is true of all its data: the slowest replicator counts, and nothing is said
// twice.
func TestTheSlowestReplicatorCounts(t *testing.T) {
	var said []membership.Input
	a, b := keyspace.Dataset{Role: "r"}, keyspace.Dataset{Role: "r", Reserved: true}
	p := NewProgress([]string{"r"}, func(in membership.Input) { said = append(said, in) })
	says := func(want ...membership.Input) {
		t.Helper()
		if !slices.Equal(said, want) {
			t.Errorf("said %v, want %v", said, want)
		}
		said = nil
	}
	p.Reached(a, true, 5)
	says()
	p.Reached(b, true, 3)
	says(membership.CaughtUp{Yes: true}, membership.Settled{Epoch: 3})
	p.Reached(a, true, 6)
	says()
	p.Reached(b, true, 8)
	says(membership.Settled{Epoch: 6})
	p.Reached(a, false, 6)
	says(membership.CaughtUp{Yes: false})
	if p.CaughtUp(a) || !p.CaughtUp(b) || p.AllCaughtUp() {
		t.Error("the users' data has not caught up")
	}
	p.Reached(a, true, 6)
	says(membership.CaughtUp{Yes: true})
	p.Moved(a, 1)
	says()
	p.Moved(a, 2)
	p.Moved(b, 1)
	says()
	p.Moved(b, 2)
	says(membership.Moved{Number: 2})
	p.Agreed(a, 7)
	says()
	p.Agreed(a, 8)
	p.Agreed(b, 7)
	says()
	p.Agreed(b, 8)
	says(membership.Agreed{Epoch: 8})
}
