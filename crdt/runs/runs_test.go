package runs

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestListAgainstPlaces compares a list with the places of all events.
func TestListAgainstPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l List
		type place struct{ pos, seq uint64 }
		var want []place // what is in the log
		end := uint64(0)
		top := uint64(0) // the highest seq that has ever come
		sorted := true
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				end += rapid.Uint64Range(0, 1).Draw(t, "others")
				first := top + rapid.Uint64Range(1, 3).Draw(t, "first")
				if rapid.IntRange(0, 9).Draw(t, "late") == 0 {
					first = rapid.Uint64Range(1, first).Draw(t, "earlier")
				}
				n := rapid.Uint32Range(1, 4).Draw(t, "n")
				if l.Len() > 0 {
					sorted = sorted && first > l.At(l.Len()-1).top
				}
				l.Add(end, first, n)
				for i := range uint64(n) {
					want = append(want, place{end + i, first + i})
				}
				end += uint64(n)
				top = max(top, first+uint64(n)-1)
			},
			"take": func(t *rapid.T) {
				if l.Len() == 0 {
					return
				}
				n := rapid.Uint32Range(1, l.At(0).N).Draw(t, "n")
				l.Take(n)
				want = want[n:]
			},
			"": func(t *rapid.T) {
				var got []place
				for i := range l.Len() {
					r := l.At(i)
					if r.N == 0 || r.End() != r.Pos+uint64(r.N) || r.Last() != r.First+uint64(r.N)-1 {
						t.Fatalf("run %d is %+v", i, r)
					}
					for k := range uint64(r.N) {
						got = append(got, place{r.Pos + k, r.First + k})
					}
				}
				if !slices.Equal(got, want) {
					t.Fatalf("holds %v, want %v", got, want)
				}
				if l.Sorted() != sorted {
					t.Fatalf("sorted %v, want %v", l.Sorted(), sorted)
				}
				seq := rapid.Uint64Range(0, top+1).Draw(t, "above")
				from := rapid.IntRange(0, l.Len()).Draw(t, "from")
				at := l.Above(from, seq)
				for i := from; i < at; i++ {
					if l.At(i).Last() > seq {
						t.Fatalf("Above(%d, %d) is %d, and run %d ends at %d", from, seq, at, i, l.At(i).Last())
					}
				}
				if at < l.Len() && l.At(at).top <= seq {
					t.Fatalf("Above(%d, %d) is %d, up to which the highest is %d", from, seq, at, l.At(at).top)
				}
			},
		})
	})
}

// TestOneWriterIsOneRun is why a log of one writer costs the same, however long it is.
func TestOneWriterIsOneRun(t *testing.T) {
	var l List
	for i := range uint64(1000) {
		l.Add(i, i+1, 1)
	}
	if l.Len() != 1 || *l.At(0) != (Run{Pos: 0, First: 1, N: 1000, top: 1000}) {
		t.Fatalf("%d runs, the first %+v", l.Len(), *l.At(0))
	}
}
