package replicator

import (
	"container/heap"
	"iter"
	"math"

	"github.com/coterie-go/coterie/replicator/fifo"
)

// timeouts orders the operations that wait by deadline, then by id. Most operations come in that
// order, and go in it: they stand in a line. An operation that has ended is passed over when its
// turn comes, so that no search is needed. An operation with an earlier deadline than the last of
// the line goes to a heap.
//
// Invariants: the line is in order; over is how many of it have ended.
type timeouts struct {
	line fifo.Queue[lined]
	over int
	heap opHeap
}

// lined is a place in the line. It is the operation's while that has the same serial: an op is used
// again for another operation.
type lined struct {
	o      *op
	serial uint64
}

func (l lined) ended() bool { return l.o.serial != l.serial || l.o.done() }

// inLine is the place of an operation that is in no heap.
const inLine = math.MaxInt

// overMax is how many in the line may have ended, beyond half of the line.
const overMax = 64

func (t *timeouts) len() int { return t.line.Len() - t.over + len(t.heap) }

func (t *timeouts) add(o *op) {
	for t.line.Len() > 0 && t.line.Last().ended() {
		t.line.Unpush()
		t.over--
	}
	if t.line.Len() > 0 && o.before(t.line.Last().o) {
		heap.Push(&t.heap, o)
		return
	}
	o.place = inLine
	t.line.Push(lined{o, o.serial})
}

// remove ends an operation.
func (t *timeouts) remove(o *op) {
	if o.place != inLine {
		heap.Remove(&t.heap, o.place)
		return
	}
	o.place = -1
	if t.over++; t.over > t.line.Len()/2+overMax {
		t.line.Drop(lined.ended)
		t.over = 0
	}
}

// first returns the operation whose deadline comes first, nil when none waits.
func (t *timeouts) first() *op {
	for t.line.Len() > 0 && t.line.Items()[0].ended() {
		t.line.Pop(1)
		t.over--
	}
	switch {
	case t.line.Len() == 0 && len(t.heap) == 0:
		return nil
	case t.line.Len() == 0 || len(t.heap) > 0 && t.heap[0].before(t.line.Items()[0].o):
		return t.heap[0]
	}
	return t.line.Items()[0].o
}

// all yields the operations that wait. The order is always the same, but means nothing. The caller
// must not end an operation meanwhile.
func (t *timeouts) all() iter.Seq[*op] {
	return func(yield func(*op) bool) {
		for _, l := range t.line.Items() {
			if !l.ended() && !yield(l.o) {
				return
			}
		}
		for _, o := range t.heap {
			if !yield(o) {
				return
			}
		}
	}
}

// opHeap orders waiting operations by deadline, then by id.
type opHeap []*op

// Len, Less, Swap, Push and Pop are for container/heap.
func (h opHeap) Len() int { return len(h) }

// Less orders two operations.
func (h opHeap) Less(i, j int) bool { return h[i].before(h[j]) }

// Swap exchanges two operations.
func (h opHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

// Push adds the last one.
func (h *opHeap) Push(x any) {
	o := x.(*op)
	o.place = len(*h)
	*h = append(*h, o)
}

// Pop takes the last one.
func (h *opHeap) Pop() any {
	old := *h
	o := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	o.place = -1
	return o
}
