package replicator

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/quorum"
	"pgregory.net/rapid"
)

func TestFifoKeepsItsOrderAndItsPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q fifo[int]
		var want []int
		next := 0
		t.Repeat(map[string]func(*rapid.T){
			"push": func(*rapid.T) {
				next++
				q.push(next)
				want = append(want, next)
			},
			"pop": func(t *rapid.T) {
				n := rapid.IntRange(0, len(want)).Draw(t, "n")
				q.pop(n)
				want = want[n:]
			},
			"unpush": func(*rapid.T) {
				if len(want) > 0 {
					q.unpush()
					want = want[:len(want)-1]
				}
			},
			"drop": func(t *rapid.T) {
				mod := rapid.IntRange(2, 5).Draw(t, "mod")
				gone := func(x int) bool { return x%mod == 0 }
				q.drop(gone)
				want = slices.DeleteFunc(slices.Clone(want), gone)
			},
			"": func(t *rapid.T) {
				if !slices.Equal(q.items(), want) || q.len() != len(want) {
					t.Fatalf("holds %v, want %v", q.items(), want)
				}
			},
		})
	})
}

func TestFifoTakesNoMemoryWhenAsMuchGoesAsComes(t *testing.T) {
	var q fifo[int]
	for i := range 100 {
		q.push(i)
	}
	if n := testing.AllocsPerRun(10_000, func() { q.push(1); q.pop(1) }); n > 0 {
		t.Fatalf("%v allocations for each", n)
	}
}

func TestTimeoutsComeByDeadlineThenID(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m Machine
		var want []*op // that wait
		id := uint64(0)
		start := time.Unix(0, 0)
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				id++
				o := m.newOp(id, "k", quorum.Majority)
				o.deadline = start.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "deadline")))
				m.timeouts.add(o)
				want = append(want, o)
			},
			"add in order": func(t *rapid.T) {
				id++
				o := m.newOp(id, "k", quorum.Majority)
				o.deadline = start.Add(time.Duration(20 + id))
				m.timeouts.add(o)
				want = append(want, o)
			},
			"end": func(t *rapid.T) {
				if len(want) == 0 {
					return
				}
				i := rapid.IntRange(0, len(want)-1).Draw(t, "which")
				o := want[i]
				m.timeouts.remove(o)
				if !o.done() {
					t.Fatal("it still waits")
				}
				if rapid.Bool().Draw(t, "recycle") {
					m.recycle(o)
				}
				want = slices.Delete(want, i, i+1)
			},
			"": func(t *rapid.T) {
				var first *op
				for _, o := range want {
					if first == nil || o.before(first) {
						first = o
					}
				}
				if got := m.timeouts.first(); got != first || m.timeouts.len() != len(want) {
					t.Fatalf("first of %d is %+v, want %+v of %d", m.timeouts.len(), got, first, len(want))
				}
				if most := 2*len(want) + 2*overMax + 2; m.timeouts.line.len() > most {
					t.Fatalf("%d in line for %d that wait", m.timeouts.line.len(), len(want))
				}
			},
		})
	})
}

func TestEncodingsOfOwnGroupsStandBesideEachOther(t *testing.T) {
	var o ownLog
	made := map[string][]byte{}
	r := crdt.NewReplica(1, crdt.StoreOptions{})
	var ch crdt.Changes
	for i := range 2000 {
		size := 1
		if i%500 == 0 {
			size = chunkBytes // too large to share
		}
		g, err := r.Update("k", 0, func(tx *crdt.Tx) error { return tx.Put("p", strings.Repeat("x", size), nil) }, &ch)
		if err != nil {
			t.Fatal(err)
		}
		enc := o.encode(g)
		made[string(enc)] = enc
		if len(made) != i+1 {
			t.Fatal("two groups have one encoding")
		}
	}
	for want, enc := range made {
		if string(enc) != want {
			t.Fatal("an encoding has changed")
		}
	}
}
