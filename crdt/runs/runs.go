package runs

import (
	"math"
	"sort"

	"github.com/coterie-go/coterie/crdt/ring"
)

// Run is events of one origin side by side in the log, whose seqs follow each other.
type Run struct {
	Pos   uint64 // in the log, of the first one
	First uint64 // its seq
	top   uint64 // the highest seq of the list up to here
	N     uint32 // how many they are
}

// Last is the seq of the last event.
func (r *Run) Last() uint64 { return r.First + uint64(r.N) - 1 }

// End is the position after the last event.
func (r *Run) End() uint64 { return r.Pos + uint64(r.N) }

// List is the runs of one origin, by position. The zero value is empty.
type List struct {
	runs  ring.Ring[Run]
	mixed bool // a run has come that was not above all before it
}

// Len is how many runs there are.
func (l *List) Len() int { return l.runs.Len() }

// At is the i-th run, good until the next Add or Take.
func (l *List) At(i int) *Run { return l.runs.At(i) }

// Sorted reports whether the runs are in order of seq, too: the events came in order.
func (l *List) Sorted() bool { return !l.mixed }

// Add enters n events from a seq on, which have come to the end of the log.
func (l *List) Add(pos, first uint64, n uint32) {
	top := first + uint64(n) - 1
	if l.runs.Len() > 0 {
		last := l.runs.At(l.runs.Len() - 1)
		if last.End() == pos && last.Last()+1 == first && n <= math.MaxUint32-last.N {
			last.N += n
			last.top = max(last.top, top)
			return
		}
		l.mixed = l.mixed || first <= last.top
		top = max(top, last.top)
	}
	l.runs.Push(Run{Pos: pos, First: first, top: top, N: n})
}

// Take takes the first n events out, which are of one run.
func (l *List) Take(n uint32) {
	r := l.runs.At(0)
	if r.N == n {
		l.runs.Pop()
		return
	}
	r.Pos, r.First, r.N = r.Pos+uint64(n), r.First+uint64(n), r.N-n
}

// Above is the first run from the i-th on that can hold a seq above one; Len: none can.
func (l *List) Above(i int, seq uint64) int {
	if i < l.Len() && l.At(i).top > seq {
		return i // the usual case: the next one
	}
	return i + sort.Search(l.Len()-i, func(k int) bool { return l.At(i+k).top > seq })
}
