package queue

import (
	"fmt"
	"math"
)

// Event is something that happens at a virtual time.
type Event[O any] struct {
	At    int64
	Owner O      // to which it happens
	Run   func() // nil: nothing happens
}

// kept is an event that has not happened.
type kept[O any] struct {
	Event[O]
	id   uint64 // in the order of scheduling; the last placeBits are its place
	next uint32 // the place of another of the same list; 0: none
}

// entry is what the heap knows of an event. It holds no pointers and is small, because each Pop moves
// and compares several.
type entry struct {
	at int64
	id uint64
}

// placeBits bounds how many events are scheduled at a time.
const placeBits = 24

// Time is cut into spans of 4 ms. There are so many lists: the events of two spans are in the same one if a multiple of
// 8.6 s lies between them.
const (
	spanBits = 22
	lists    = 2048
)

func spanOf(at int64) int64 { return at >> spanBits }

func (e entry) before(o entry) bool { return e.at < o.at || e.at == o.at && e.id < o.id }

// Queue has the events of the present span in a heap, and later ones in lists without an order. Most are timers of
// seconds, so the heap is small. It has four children per node: fewer levels and better locality than two. The zero
// value is empty.
//
// Invariant: each place of events, except 0, is that of one entry of the heap, or in one list, or in free.
type Queue[O any] struct {
	heap   []entry // of events of the present span, or of one before
	span   int64   // the present one
	later  [lists]uint32
	events []kept[O]
	free   []uint32
	seq    uint64
}

// Push adds an event.
func (q *Queue[O]) Push(at int64, owner O, run func()) {
	q.seq++
	place := q.place()
	e := &q.events[place]
	e.Event, e.id = Event[O]{at, owner, run}, q.seq<<placeBits|uint64(place)
	if span := spanOf(at); span > q.span {
		q.list(place, span)
		return
	}
	q.add(entry{at, e.id})
}

// place finds room for an event.
func (q *Queue[O]) place() uint32 {
	if last := len(q.free) - 1; last >= 0 {
		place := q.free[last]
		q.free = q.free[:last]
		return place
	}
	if len(q.events) == 0 {
		q.events = append(q.events, kept[O]{})
	}
	q.events = append(q.events, kept[O]{})
	if len(q.events) > 1<<placeBits {
		panic(fmt.Sprintf("queue: %d events", len(q.events)))
	}
	return uint32(len(q.events) - 1)
}

// list puts an event of a later span into its list.
func (q *Queue[O]) list(place uint32, span int64) {
	first := &q.later[uint64(span)%lists]
	q.events[place].next, *first = *first, place
}

// add puts an event into the heap.
func (q *Queue[O]) add(e entry) {
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

// advance goes on to the next span with an event. The heap must be empty, and the queue not.
func (q *Queue[O]) advance() {
	for seen := 0; len(q.heap) == 0; seen++ {
		if q.span++; seen == lists {
			q.span = q.least() // it is far away
		}
		first := &q.later[uint64(q.span)%lists]
		place := *first
		*first = 0
		for n := 0; place != 0; n++ {
			if n == len(q.events) {
				panic("queue: a list has no end: two goroutines use the queue at once")
			}
			e := &q.events[place]
			next := e.next
			if span := spanOf(e.At); span == q.span {
				q.add(entry{e.At, e.id})
			} else {
				q.list(place, span)
			}
			place = next
		}
	}
}

// least is the first span of all lists.
func (q *Queue[O]) least() int64 {
	least := int64(math.MaxInt64)
	for _, place := range q.later {
		for ; place != 0; place = q.events[place].next {
			least = min(least, spanOf(q.events[place].At))
		}
	}
	return least
}

// Pop takes out the next event. The queue must not be empty.
func (q *Queue[O]) Pop() Event[O] {
	if len(q.heap) == 0 {
		q.advance()
	}
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
	place := uint32(top.id & (1<<placeBits - 1))
	next := q.events[place].Event
	q.events[place].Event = Event[O]{}
	q.free = append(q.free, place)
	return next
}

// Void has nothing happen at the times of an owner's events, and forgets what these would have kept in memory. It costs
// a look at all events.
func (q *Queue[O]) Void(is func(owner O) bool) {
	for i := range q.events {
		if e := &q.events[i].Event; e.Run != nil && is(e.Owner) {
			*e = Event[O]{At: e.At}
		}
	}
}

// Empty reports whether nothing will happen.
func (q *Queue[O]) Empty() bool { return len(q.free)+1 >= len(q.events) }
