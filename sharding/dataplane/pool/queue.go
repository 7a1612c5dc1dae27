package pool

// segmentTasks is how many tasks one piece of the run queue holds.
const segmentTasks = 256

// segment is a piece of the run queue.
type segment[T comparable] struct {
	tasks [segmentTasks]T
	next  *segment[T]
}

// queue is the run queue, a FIFO. What stands in it is in its own memory and not in the tasks: a task
// that is idle takes no room for it, and to queue one touches no other. It keeps one empty segment, so that
// it allocates only while it grows. It is not safe for concurrent use.
//
// Invariant: head is nil if and only if it is empty.
type queue[T comparable] struct {
	head, tail *segment[T]
	from, to   int // head.tasks[from:] is queued, up to tail.tasks[:to]
	spare      *segment[T]
}

func (q *queue[T]) isEmpty() bool { return q.head == nil }

// push puts a task at the end.
func (q *queue[T]) push(e T) {
	if q.head == nil || q.to == segmentTasks {
		q.grow()
	}
	q.tail.tasks[q.to] = e
	q.to++
}

func (q *queue[T]) grow() {
	s := q.spare
	if q.spare = nil; s == nil {
		s = new(segment[T])
	}
	if q.head == nil {
		q.head, q.from = s, 0
	} else {
		q.tail.next = s
	}
	q.tail, q.to = s, 0
}

// pop takes the first task; ok is false when there is none.
func (q *queue[T]) pop() (e T, ok bool) {
	s := q.head
	if s == nil {
		return e, false
	}
	var none T
	e, s.tasks[q.from] = s.tasks[q.from], none
	q.from++
	switch {
	case s == q.tail && q.from == q.to:
		q.head, q.tail, q.spare = nil, nil, s
	case q.from == segmentTasks:
		q.head, q.from, s.next, q.spare = s.next, 0, nil, s
	}
	return e, true
}

// list is what is queued, in order.
func (q *queue[T]) list() (all []T) {
	from := q.from
	for s := q.head; s != nil; s = s.next {
		to := segmentTasks
		if s == q.tail {
			to = q.to
		}
		all = append(all, s.tasks[from:to]...)
		from = 0
	}
	return all
}
