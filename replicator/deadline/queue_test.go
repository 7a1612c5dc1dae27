package deadline

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

type thing struct {
	Entry
	id uint64
}

func TestThingsComeByDeadlineThenID(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q Queue[*thing]
		var spare []*thing
		fresh := func(id uint64) *thing {
			if n := len(spare); n > 0 {
				x := spare[n-1]
				spare = spare[:n-1]
				*x = thing{Entry: x.Renewed(), id: id}
				return x
			}
			return &thing{id: id}
		}
		var want []*thing // that wait
		id := uint64(0)
		start := time.Unix(0, 0)
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				id++
				o := fresh(id)
				q.Add(o, id, start.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "deadline"))))
				want = append(want, o)
			},
			"add in order": func(t *rapid.T) {
				id++
				o := fresh(id)
				q.Add(o, id, start.Add(time.Duration(20+id)))
				want = append(want, o)
			},
			"end": func(t *rapid.T) {
				if len(want) == 0 {
					return
				}
				i := rapid.IntRange(0, len(want)-1).Draw(t, "which")
				o := want[i]
				q.Remove(o)
				if !o.Done() {
					t.Fatal("it still waits")
				}
				if rapid.Bool().Draw(t, "recycle") {
					o.Entry = o.Retired()
					spare = append(spare, o)
				}
				want = slices.Delete(want, i, i+1)
			},
			"": func(t *rapid.T) {
				var first *thing
				for _, o := range want {
					if first == nil || o.before(&first.Entry) {
						first = o
					}
				}
				if got, ok := q.First(); got != first || ok != (first != nil) || q.Len() != len(want) {
					t.Fatalf("first of %d is %+v, want %+v of %d", q.Len(), got, first, len(want))
				}
				if most := 2*len(want) + 2*overMax + 2; q.line.Len() > most {
					t.Fatalf("%d in line for %d that wait", q.line.Len(), len(want))
				}
			},
		})
	})
}
