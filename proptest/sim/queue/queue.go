package queue

// Event is something that happens at a virtual time.
type Event[O any] struct {
	At    int64
	Owner O // to which it happens
	Run   func()

	seq uint64
}

func (e *Event[O]) before(o *Event[O]) bool { return e.At < o.At || e.At == o.At && e.seq < o.seq }

// Queue is a heap of events with four children per node: fewer levels and better locality than two.
// The zero value is empty.
type Queue[O any] struct {
	heap []Event[O]
	seq  uint64
}

// Push adds an event.
func (q *Queue[O]) Push(at int64, owner O, run func()) {
	q.seq++
	q.heap = append(q.heap, Event[O]{At: at, seq: q.seq, Owner: owner, Run: run})
	i := len(q.heap) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !q.heap[i].before(&q.heap[up]) {
			break
		}
		q.heap[i], q.heap[up] = q.heap[up], q.heap[i]
		i = up
	}
}

// Pop takes out the next event. The queue must not be empty.
func (q *Queue[O]) Pop() Event[O] {
	top := q.heap[0]
	last := len(q.heap) - 1
	q.heap[0] = q.heap[last]
	q.heap[last] = Event[O]{}
	q.heap = q.heap[:last]
	for i := 0; ; {
		least := i
		for c := 4*i + 1; c <= 4*i+4 && c < last; c++ {
			if q.heap[c].before(&q.heap[least]) {
				least = c
			}
		}
		if least == i {
			return top
		}
		q.heap[i], q.heap[least] = q.heap[least], q.heap[i]
		i = least
	}
}

// Empty reports whether nothing will happen.
func (q *Queue[O]) Empty() bool { return len(q.heap) == 0 }
