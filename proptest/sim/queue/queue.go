package queue

import "fmt"

// Event is something that happens at a virtual time.
type Event[O any] struct {
	At    int64
	Owner O // to which it happens
	Run   func()
}

// entry is what the heap knows of an event. It holds no pointers and is small, because each Pop moves
// and compares several.
type entry struct {
	at int64
	id uint64 // in the order of scheduling; the last placeBits are the place of the event
}

// placeBits bounds how many events are scheduled at a time.
const placeBits = 24

func (e entry) before(o entry) bool { return e.at < o.at || e.at == o.at && e.id < o.id }

// Queue is a heap of events with four children per node: fewer levels and better locality than two.
// The zero value is empty.
//
// Invariant: each place of events is that of one entry of the heap, or in free.
type Queue[O any] struct {
	heap   []entry
	events []Event[O]
	free   []uint64
	seq    uint64
}

// Push adds an event.
func (q *Queue[O]) Push(at int64, owner O, run func()) {
	q.seq++
	e := entry{at, q.seq<<placeBits | q.keep(Event[O]{at, owner, run})}
	q.heap = append(q.heap, e)
	i := len(q.heap) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !e.before(q.heap[up]) {
			break
		}
		q.heap[i] = q.heap[up]
		i = up
	}
	q.heap[i] = e
}

// keep returns the place of an event until it happens.
func (q *Queue[O]) keep(e Event[O]) (place uint64) {
	if last := len(q.free) - 1; last >= 0 {
		place, q.free = q.free[last], q.free[:last]
		q.events[place] = e
		return place
	}
	q.events = append(q.events, e)
	if len(q.events) > 1<<placeBits {
		panic(fmt.Sprintf("queue: %d events", len(q.events)))
	}
	return uint64(len(q.events) - 1)
}

// Pop takes out the next event. The queue must not be empty.
func (q *Queue[O]) Pop() Event[O] {
	last := len(q.heap) - 1
	top, e := q.heap[0], q.heap[last] // e looks for its place from the top on
	q.heap = q.heap[:last]
	for i := 0; last > 0; {
		least := 4*i + 1
		for c := least + 1; c <= 4*i+4 && c < last; c++ {
			if q.heap[c].before(q.heap[least]) {
				least = c
			}
		}
		if least >= last || e.before(q.heap[least]) {
			q.heap[i] = e
			break
		}
		q.heap[i] = q.heap[least]
		i = least
	}
	place := top.id & (1<<placeBits - 1)
	next := q.events[place]
	q.events[place] = Event[O]{}
	q.free = append(q.free, place)
	return next
}

// Empty reports whether nothing will happen.
func (q *Queue[O]) Empty() bool { return len(q.heap) == 0 }
