package timer

import (
	"container/heap"
	"time"
)

// Queue has a time for each of many things, and finds the earliest without a look at all of them.
// The zero value is empty. It is not safe for concurrent use.
type Queue[K comparable] struct {
	at   map[K]time.Time
	heap moments[K] // an entry counts only if it says what at does
}

// keep is how many entries that do not count any more may stand in a small Queue.
const keep = 64

// Set gives k a time in place of its former one. The zero time means never.
func (q *Queue[K]) Set(k K, at time.Time) {
	switch was, ok := q.at[k]; {
	case at.IsZero():
		delete(q.at, k)
	case ok && was.Equal(at):
	default:
		if q.at == nil {
			q.at = map[K]time.Time{}
		}
		q.at[k] = at
		heap.Push(&q.heap, moment[K]{at, k})
	}
	if len(q.heap) > 2*len(q.at)+keep {
		q.heap = q.heap[:0]
		for k, at := range q.at { // order: the heap has its own
			q.heap = append(q.heap, moment[K]{at, k})
		}
		heap.Init(&q.heap)
	}
}

// Next is the earliest time; zero: there is none.
func (q *Queue[K]) Next() time.Time {
	for len(q.heap) > 0 && !q.counts(q.heap[0]) {
		heap.Pop(&q.heap)
	}
	if len(q.heap) == 0 {
		return time.Time{}
	}
	return q.heap[0].at
}

// Take takes out what has the earliest time, if that has come.
func (q *Queue[K]) Take(now time.Time) (k K, ok bool) {
	next := q.Next()
	if !Due(&next, now) {
		return k, false
	}
	k = heap.Pop(&q.heap).(moment[K]).of
	delete(q.at, k)
	return k, true
}

func (q *Queue[K]) counts(m moment[K]) bool {
	at, ok := q.at[m.of]
	return ok && at.Equal(m.at)
}

type moment[K comparable] struct {
	at time.Time
	of K
}

type moments[K comparable] []moment[K]

func (m moments[K]) Len() int           { return len(m) }
func (m moments[K]) Less(i, j int) bool { return m[i].at.Before(m[j].at) }
func (m moments[K]) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }

// Push implements heap.Interface.
func (m *moments[K]) Push(x any) { *m = append(*m, x.(moment[K])) }

// Pop implements heap.Interface.
func (m *moments[K]) Pop() any {
	old := *m
	x := old[len(old)-1]
	old[len(old)-1] = moment[K]{}
	*m = old[:len(old)-1]
	return x
}
