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
	e := Event[O]{At: at, seq: q.seq, Owner: owner, Run: run}
	q.heap = append(q.heap, e)
	i := len(q.heap) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !e.before(&q.heap[up]) {
			break
		}
		q.heap[i] = q.heap[up]
		i = up
	}
	q.heap[i] = e
}

// Pop takes out the next event. The queue must not be empty.
func (q *Queue[O]) Pop() Event[O] {
	last := len(q.heap) - 1
	top, e := q.heap[0], q.heap[last] // e looks for its place from the top on
	q.heap[last] = Event[O]{}
	q.heap = q.heap[:last]
	for i := 0; last > 0; {
		least := 4*i + 1
		for c := least + 1; c <= 4*i+4 && c < last; c++ {
			if q.heap[c].before(&q.heap[least]) {
				least = c
			}
		}
		if least >= last || e.before(&q.heap[least]) {
			q.heap[i] = e
			break
		}
		q.heap[i] = q.heap[least]
		i = least
	}
	return top
}

// Empty reports whether nothing will happen.
func (q *Queue[O]) Empty() bool { return len(q.heap) == 0 }
