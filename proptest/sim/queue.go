package sim

// event is something that happens at a virtual time. Ties break by the order of scheduling, so a
// run has one order only.
type event struct {
	at  int64
	seq uint64
	// owner is the process to which it happens; nil for the world itself. Nothing happens to a dead
	// one, and what happens to a paused one waits for its resumption.
	owner *Process
	run   func()
}

func (e *event) before(o *event) bool { return e.at < o.at || e.at == o.at && e.seq < o.seq }

// queue is a heap of events with four children per node: fewer levels and better locality than two.
type queue struct {
	heap []event
	seq  uint64
}

func (q *queue) push(at int64, owner *Process, run func()) {
	q.seq++
	q.heap = append(q.heap, event{at: at, seq: q.seq, owner: owner, run: run})
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

func (q *queue) pop() event {
	top := q.heap[0]
	last := len(q.heap) - 1
	q.heap[0] = q.heap[last]
	q.heap[last] = event{}
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

func (q *queue) empty() bool { return len(q.heap) == 0 }
