package replicator

import (
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/replicator/quorum"
	"pgregory.net/rapid"
)

func TestTimeoutsComeByDeadlineThenID(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m Machine
		var want []*op // that wait
		id := uint64(0)
		start := time.Unix(0, 0)
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				id++
				o := m.ops.newOp(id, "k", quorum.Majority)
				o.deadline = start.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "deadline")))
				m.ops.timeouts.add(o)
				want = append(want, o)
			},
			"add in order": func(t *rapid.T) {
				id++
				o := m.ops.newOp(id, "k", quorum.Majority)
				o.deadline = start.Add(time.Duration(20 + id))
				m.ops.timeouts.add(o)
				want = append(want, o)
			},
			"end": func(t *rapid.T) {
				if len(want) == 0 {
					return
				}
				i := rapid.IntRange(0, len(want)-1).Draw(t, "which")
				o := want[i]
				m.ops.timeouts.remove(o)
				if !o.done() {
					t.Fatal("it still waits")
				}
				if rapid.Bool().Draw(t, "recycle") {
					m.ops.recycle(o)
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
				if got := m.ops.timeouts.first(); got != first || m.ops.timeouts.len() != len(want) {
					t.Fatalf("first of %d is %+v, want %+v of %d", m.ops.timeouts.len(), got, first, len(want))
				}
				if most := 2*len(want) + 2*overMax + 2; m.ops.timeouts.line.Len() > most {
					t.Fatalf("%d in line for %d that wait", m.ops.timeouts.line.Len(), len(want))
				}
			},
		})
	})
}
