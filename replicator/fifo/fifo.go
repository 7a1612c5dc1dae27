package fifo

import "slices"

// Queue is a queue in a slice that it uses again. The zero value is empty.
type Queue[T any] struct {
	all  []T // the queue is what begins at from; what is before it is zero
	from int
}

// keepMax bounds the places that an empty queue keeps.
const keepMax = 4096

// Items returns the queue, oldest first. It is valid until the next change.
func (q *Queue[T]) Items() []T { return q.all[q.from:] }

// Len returns how many there are.
func (q *Queue[T]) Len() int { return len(q.all) - q.from }

// Last returns the place of the newest; the queue must not be empty.
func (q *Queue[T]) Last() *T { return &q.all[len(q.all)-1] }

// Push adds one.
func (q *Queue[T]) Push(x T) {
	if len(q.all) == cap(q.all) && q.from > len(q.all)/2 {
		n := copy(q.all, q.Items())
		clear(q.all[n:])
		q.all, q.from = q.all[:n], 0
	}
	q.all = append(q.all, x)
}

// Pop drops the n oldest.
func (q *Queue[T]) Pop(n int) {
	clear(q.Items()[:n])
	q.from += n
	q.tidy()
}

// Unpush drops the newest.
func (q *Queue[T]) Unpush() {
	clear(q.all[len(q.all)-1:])
	q.all = q.all[:len(q.all)-1]
	q.tidy()
}

// Drop drops the items for which gone is true.
func (q *Queue[T]) Drop(gone func(T) bool) {
	q.all = q.all[:q.from+len(slices.DeleteFunc(q.Items(), gone))]
	q.tidy()
}

func (q *Queue[T]) tidy() {
	if q.Len() > 0 {
		return
	}
	q.all, q.from = q.all[:0], 0
	if cap(q.all) > keepMax {
		q.all = nil
	}
}
