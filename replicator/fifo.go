package replicator

import "slices"

// fifo is a queue in a slice that it uses again: what goes as fast as it comes takes no new memory.
type fifo[T any] struct {
	all  []T // the queue is what begins at from; what is before it is zero
	from int
}

// fifoKeep bounds the places that an empty queue keeps.
const fifoKeep = 4096

// items returns the queue, oldest first. It is valid until the next change.
func (q *fifo[T]) items() []T { return q.all[q.from:] }

func (q *fifo[T]) len() int { return len(q.all) - q.from }

// last returns the place of the newest; the queue must not be empty.
func (q *fifo[T]) last() *T { return &q.all[len(q.all)-1] }

func (q *fifo[T]) push(x T) {
	if len(q.all) == cap(q.all) && q.from > len(q.all)/2 {
		n := copy(q.all, q.items())
		clear(q.all[n:])
		q.all, q.from = q.all[:n], 0
	}
	q.all = append(q.all, x)
}

// pop drops the n oldest.
func (q *fifo[T]) pop(n int) {
	clear(q.items()[:n])
	q.from += n
	q.tidy()
}

// unpush drops the newest.
func (q *fifo[T]) unpush() {
	clear(q.all[len(q.all)-1:])
	q.all = q.all[:len(q.all)-1]
	q.tidy()
}

// drop drops those of which gone says so.
func (q *fifo[T]) drop(gone func(T) bool) {
	q.all = q.all[:q.from+len(slices.DeleteFunc(q.items(), gone))]
	q.tidy()
}

func (q *fifo[T]) tidy() {
	if q.len() > 0 {
		return
	}
	q.all, q.from = q.all[:0], 0
	if cap(q.all) > fifoKeep {
		q.all = nil
	}
}
