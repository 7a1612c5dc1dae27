package runs

import (
	"slices"
	"testing"

	"github.com/coterie-go/coterie/crdt/dots"
	"pgregory.net/rapid"
)

// grouped is the groups of a log, by position: the list's, and between them another origin's.
type grouped struct {
	list   List
	places []place
	groups []place // of the list: the first event of each
}

// place is one event of a log.
type place struct {
	seq    uint64 // 0: of another origin
	events uint64
	before uint64
}

// Group implements Groups.
func (g *grouped) Group(pos uint64) (events, before uint64) {
	return g.places[pos].events, g.places[pos].before
}

// TestCursorAgainstAWalk compares what a peer is found to lack with a look at each group.
func TestCursorAgainstAWalk(t *testing.T) {
	const origin = 1
	rapid.Check(t, func(t *rapid.T) {
		var g grouped
		top := uint64(0)
		late := rapid.Bool().Draw(t, "late") // some groups come late
		var held []uint64                    // the first seqs of what comes late
		for range rapid.IntRange(1, 40).Draw(t, "groups") {
			if rapid.IntRange(0, 3).Draw(t, "other") == 0 {
				g.places = append(g.places, place{})
			}
			first := top + 1
			n := rapid.Uint64Range(1, 3).Draw(t, "n")
			switch {
			case late && len(held) > 0 && rapid.Bool().Draw(t, "comes"):
				first, n = held[0], 1
				held = held[1:]
			case rapid.IntRange(0, 3).Draw(t, "skips") == 0:
				held = append(held, first)
				first++
			}
			g.list.Add(uint64(len(g.places)), first, uint32(n))
			for i := range n {
				g.places = append(g.places, place{first + i, n, i})
			}
			g.groups = append(g.groups, place{seq: first, events: n})
			top = max(top, first+n-1)
		}
		var peer dots.Clock
		for seq := uint64(1); seq <= top; {
			run := rapid.Uint64Range(1, 6).Draw(t, "run")
			if rapid.IntRange(0, 2).Draw(t, "has") > 0 {
				peer.AddRange(origin, seq, min(top, seq+run-1))
			}
			seq += run
		}
		row := peer.Row(origin)
		want := slices.DeleteFunc(slices.Clone(g.groups), func(p place) bool {
			return row.HasRange(p.seq, p.seq+p.events-1)
		})
		var got []place
		for c := NewCursor(&g.list, row, &g); c.Seek(); c.Next() {
			pos, first := c.Place()
			if g.places[pos].seq != first || g.places[pos].before != 0 {
				t.Fatalf("stands at position %d, seq %d, where %+v is", pos, first, g.places[pos])
			}
			got = append(got, place{seq: first, events: g.places[pos].events})
		}
		if !slices.Equal(got, want) {
			t.Fatalf("a peer at %v lacks %v, found %v", &peer, want, got)
		}
	})
}
