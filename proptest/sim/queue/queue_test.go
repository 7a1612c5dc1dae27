package queue

import (
	"math/rand/v2"
	"testing"
)

// TestQueue pops in order of time, then of scheduling.
func TestQueue(t *testing.T) {
	var q Queue[string]
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		q.Push(r.Int64N(50), "", nil)
	}
	last := Event[string]{At: -1}
	for !q.Empty() {
		e := q.Pop()
		if !last.before(&e) {
			t.Fatalf("%d/%d after %d/%d", e.At, e.seq, last.At, last.seq)
		}
		last = e
	}
}
