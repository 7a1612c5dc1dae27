package deadline

import (
	"container/heap"
	"iter"
	"math"
	"time"

	"github.com/coterie-go/coterie/replicator/fifo"
)

// Entry is the place of one thing in a Queue. The zero value is of a thing that has not been added.
type Entry struct {
	at     time.Time
	id     uint64
	place  int    // in the heap; inLine; -1: it has ended
	serial uint64 // of the thing, among those that have used this memory
}

// Deadline returns when the waiting ends.
func (e *Entry) Deadline() time.Time { return e.at }

// Done reports whether the thing has been removed.
func (e *Entry) Done() bool { return e.place < 0 }

// Retired returns the entry for memory that no thing uses for now: its place in the line means
// nothing any more.
func (e *Entry) Retired() Entry { return Entry{serial: e.serial + 1, place: -1} }

// Renewed returns the entry for the next thing in this memory.
func (e *Entry) Renewed() Entry { return Entry{serial: e.serial} }

func (e *Entry) entry() *Entry { return e }

// before orders by deadline, then by id.
func (e *Entry) before(o *Entry) bool {
	if !e.at.Equal(o.at) {
		return e.at.Before(o.at)
	}
	return e.id < o.id
}

// Item is a pointer to something that embeds an Entry.
type Item interface {
	comparable
	entry() *Entry
}

// Queue orders things by deadline, then by id. The zero value is empty.
//
// Invariants: the line is in order; over is how many of it have ended.
type Queue[T Item] struct {
	line fifo.Queue[lined[T]]
	over int
	heap entries[T]
}

// lined is a place in the line. It is the thing's while that has the same serial.
type lined[T Item] struct {
	item   T
	serial uint64
}

func (l lined[T]) ended() bool {
	e := l.item.entry()
	return e.serial != l.serial || e.Done()
}

// inLine is the place of a thing that is in no heap.
const inLine = math.MaxInt

// overMax is how many in the line may have ended, beyond half of the line.
const overMax = 64

// Len returns how many wait.
func (q *Queue[T]) Len() int { return q.line.Len() - q.over + len(q.heap) }

// Add lets a thing wait until a time. Its id must differ from those that wait.
func (q *Queue[T]) Add(x T, id uint64, at time.Time) {
	e := x.entry()
	e.id, e.at = id, at
	for q.line.Len() > 0 && q.line.Last().ended() {
		q.line.Unpush()
		q.over--
	}
	if q.line.Len() > 0 && e.before(q.line.Last().item.entry()) {
		heap.Push(&q.heap, x)
		return
	}
	e.place = inLine
	q.line.Push(lined[T]{x, e.serial})
}

// Remove ends the waiting of a thing.
func (q *Queue[T]) Remove(x T) {
	e := x.entry()
	if e.place != inLine {
		heap.Remove(&q.heap, e.place)
		return
	}
	e.place = -1
	if q.over++; q.over > q.line.Len()/2+overMax {
		q.line.Drop(lined[T].ended)
		q.over = 0
	}
}

// First returns the thing whose deadline comes first; ok is false when none waits.
func (q *Queue[T]) First() (x T, ok bool) {
	for q.line.Len() > 0 && q.line.Items()[0].ended() {
		q.line.Pop(1)
		q.over--
	}
	switch {
	case q.line.Len() == 0 && len(q.heap) == 0:
		return x, false
	case q.line.Len() == 0 || len(q.heap) > 0 && q.heap[0].entry().before(q.line.Items()[0].item.entry()):
		return q.heap[0], true
	}
	return q.line.Items()[0].item, true
}

// All yields the things that wait. The order is always the same, but means nothing. The caller must
// not remove one meanwhile.
func (q *Queue[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, l := range q.line.Items() {
			if !l.ended() && !yield(l.item) {
				return
			}
		}
		for _, x := range q.heap {
			if !yield(x) {
				return
			}
		}
	}
}

// entries is a heap by deadline, then by id.
type entries[T Item] []T

// Len, Less, Swap, Push and Pop are for container/heap.
func (h entries[T]) Len() int { return len(h) }

// Less orders two things.
func (h entries[T]) Less(i, j int) bool { return h[i].entry().before(h[j].entry()) }

// Swap exchanges two things.
func (h entries[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].entry().place, h[j].entry().place = i, j
}

// Push adds the last one.
func (h *entries[T]) Push(x any) {
	item := x.(T)
	item.entry().place = len(*h)
	*h = append(*h, item)
}

// Pop takes the last one.
func (h *entries[T]) Pop() any {
	var none T
	old := *h
	x := old[len(old)-1]
	old[len(old)-1] = none
	*h = old[:len(old)-1]
	x.entry().place = -1
	return x
}
