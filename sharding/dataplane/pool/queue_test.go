package pool

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The run queue is a FIFO whatever the number of its segments, and keeps nothing that was taken.
func TestQueueAgainstSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue[int]
		var model []int
		next := 1
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				for range rapid.IntRange(1, 2*segmentTasks).Draw(t, "n") {
					q.push(next)
					model = append(model, next)
					next++
				}
			},
			"pop": func(t *rapid.T) {
				for range rapid.IntRange(1, 2*segmentTasks).Draw(t, "n") {
					e, ok := q.pop()
					if ok != (len(model) > 0) || ok && e != model[0] {
						t.Fatalf("got %d %v of %v", e, ok, model)
					}
					model = model[min(1, len(model)):]
				}
			},
			"": func(t *rapid.T) {
				if !slices.Equal(q.list(), model) || q.isEmpty() != (len(model) == 0) {
					t.Fatalf("%v, want %v", q.list(), model)
				}
				if q.spare != nil && (q.spare.next != nil || q.spare.tasks != [segmentTasks]int{}) {
					t.Fatal("the spare segment keeps something")
				}
			},
		})
	})
}

// A queue that does not grow allocates nothing.
func TestQueueKeepsASegment(t *testing.T) {
	var q queue[int]
	if n := testing.AllocsPerRun(10, func() {
		for i := range 3 * segmentTasks / 2 {
			q.push(i)
			q.pop()
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
