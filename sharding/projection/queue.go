package projection

import (
	"context"
	"sync"
	"time"
)

// queue holds what was read of a part, between the reader and the handler. Two goroutines use it.
type queue[E any] struct {
	countMax, bytesMax int

	mu      sync.Mutex
	entries []entry[E]
	bytes   int
	ended   bool
	err     error         // why, if ended
	news    chan struct{} // holds one element: there are entries, or the end
	room    chan struct{} // holds one element: there may be room
}

// entry is an event that was read: decoded, or why it was not.
type entry[E any] struct {
	event Recorded[E]
	doing string // what has failed with err
	err   error
	bytes int
}

func newQueue[E any](countMax, bytesMax int) *queue[E] {
	return &queue[E]{countMax: countMax, bytesMax: bytesMax, news: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// put adds an entry, and waits for room.
func (q *queue[E]) put(ctx context.Context, e entry[E]) error {
	for !q.maybePut(e) {
		select {
		case <-q.room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (q *queue[E]) maybePut(e entry[E]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := len(q.entries); n >= q.countMax || n > 0 && q.bytes+e.bytes > q.bytesMax {
		return false
	}
	q.entries = append(q.entries, e)
	q.bytes += e.bytes
	signal(q.news)
	return true
}

// end says that there will be no more, and why.
func (q *queue[E]) end(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended, q.err = true, err
	signal(q.news)
}

// take waits for entries, and returns at most some. It returns none if a time comes first; a zero
// one never does. When all were taken its error is that of end.
func (q *queue[E]) take(ctx context.Context, most int, until time.Time) ([]entry[E], error) {
	var timeout <-chan time.Time
	if !until.IsZero() {
		t := time.NewTimer(time.Until(until))
		defer t.Stop()
		timeout = t.C
	}
	for {
		if out, err := q.maybeTake(most); len(out) > 0 || err != nil {
			return out, err
		}
		select {
		case <-q.news:
		case <-timeout:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (q *queue[E]) maybeTake(most int) ([]entry[E], error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.entries) == 0 {
		if q.ended {
			return nil, q.err
		}
		return nil, nil
	}
	n := min(most, len(q.entries))
	out := make([]entry[E], n)
	copy(out, q.entries)
	rest := copy(q.entries, q.entries[n:])
	clear(q.entries[rest:])
	q.entries = q.entries[:rest]
	for _, e := range out {
		q.bytes -= e.bytes
	}
	signal(q.room)
	return out, nil
}

// front returns when the first entry was written; zero: there is none.
func (q *queue[E]) front() time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.entries) == 0 {
		return time.Time{}
	}
	return q.entries[0].event.At
}
