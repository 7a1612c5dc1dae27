package queue

import (
	"math/rand/v2"
	"testing"
)

// TestQueue pops in order of time, then of scheduling, also while events are added: some soon, some in hours.
func TestQueue(t *testing.T) {
	var q Queue[int]
	r := rand.New(rand.NewPCG(1, 2))
	pushed, now := 0, int64(0)
	push := func(n int) {
		for range n {
			q.Push(now+r.Int64N(50)<<(9*r.IntN(6)), pushed, func() {})
			pushed++
		}
	}
	push(1000)
	for last, popped := (Event[int]{At: -1}), 0; !q.Empty(); popped++ {
		e := q.Pop()
		if e.At < last.At || e.At == last.At && e.Owner < last.Owner || e.Run == nil {
			t.Fatalf("%d/%d after %d/%d", e.At, e.Owner, last.At, last.Owner)
		}
		last, now = e, e.At
		if popped < 5000 {
			push(r.IntN(3))
		}
	}
	if pushed < 5000 || len(q.events) == pushed || len(q.free)+1 != len(q.events) {
		t.Errorf("%d events were pushed, %d places, %d of them free", pushed, len(q.events), len(q.free))
	}
}

// Of an owner whose events are void, nothing is left but when they were to happen.
func TestVoid(t *testing.T) {
	var q Queue[*int]
	gone, stays := new(int), new(int)
	for at := range int64(100) {
		owner := stays
		if at%3 == 0 {
			owner = gone
		}
		q.Push(at<<spanBits/4, owner, func() { *owner++ })
	}
	q.Void(func(owner *int) bool { return owner == gone })
	for at := range int64(100) {
		e := q.Pop()
		if void := at%3 == 0; e.At != at<<spanBits/4 || void != (e.Run == nil) || void != (e.Owner == nil) {
			t.Fatalf("event %d: %+v", at, e)
		}
	}
	if !q.Empty() {
		t.Error("there are more events than were pushed")
	}
}

// BenchmarkQueue is one event that schedules another, among as many as a world has.
func BenchmarkQueue(b *testing.B) {
	var q Queue[*int]
	r := rand.New(rand.NewPCG(1, 2))
	run := func() {}
	for range 3000 {
		q.Push(r.Int64N(1e9), nil, run)
	}
	b.ReportAllocs()
	for b.Loop() {
		e := q.Pop()
		q.Push(e.At+r.Int64N(1e9), nil, run)
	}
}
