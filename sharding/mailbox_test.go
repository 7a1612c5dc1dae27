package sharding

import (
	"testing"

	"pgregory.net/rapid"
)

// A queue is a FIFO whatever the sizes of its chunks.
func TestQueueAgainstSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue
		var model []int
		next := 0
		push := func(q *queue) {
			q.push(envelope{msg: next})
			next++
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				for range rapid.IntRange(1, 200).Draw(t, "n") {
					model = append(model, next)
					push(&q)
				}
			},
			"pop": func(t *rapid.T) {
				for range rapid.IntRange(1, 200).Draw(t, "n") {
					e, ok := q.pop()
					if ok != (len(model) > 0) {
						t.Fatalf("pop %v with %d queued", ok, len(model))
					}
					if ok {
						if e.msg != model[0] {
							t.Fatalf("got %v, want %d", e.msg, model[0])
						}
						model = model[1:]
					}
				}
			},
			"prepend": func(t *rapid.T) {
				var front queue
				var fresh []int
				for range rapid.IntRange(0, 10).Draw(t, "n") {
					fresh = append(fresh, next)
					push(&front)
				}
				q.prepend(&front)
				model = append(fresh, model...)
			},
			"take": func(t *rapid.T) {
				front := q.take()
				if q.head != nil || q.len != 0 {
					t.Fatal("take left something")
				}
				q.prepend(&front)
			},
			"": func(t *rapid.T) {
				if q.len != len(model) || (q.head == nil) != (len(model) == 0) {
					t.Fatalf("len %d, want %d", q.len, len(model))
				}
			},
		})
	})
}

func TestStaleCommandsEndWithTheirIncarnation(t *testing.T) {
	var m mailbox
	m.phase = held
	m.push(envelope{msg: 1}, 10)
	if !m.begin() {
		t.Fatal("not scheduled")
	}
	if ok, _ := m.refill(); !ok {
		t.Fatal("empty")
	}
	m.command(stopNow)
	m.push(envelope{msg: 2}, 10)
	m.hold(forStart)
	m.waiting.pop()
	e, ok := m.waiting.pop()
	if !ok || e.msg != 2 || m.waiting.len != 0 || m.started {
		t.Errorf("%v %v, %d left", e, ok, m.waiting.len)
	}
}

// An entity whose turns end early, as after a failure, does not make its mailbox grow: each turn takes more, and leaves room for less.
func TestMailboxNeverHoldsTwiceItsLimit(t *testing.T) {
	const limit = 10
	var m mailbox
	for range 5 * limit {
		for {
			if v, _ := m.push(envelope{}, limit); v != accepted {
				break
			}
		}
		if n := m.taken.len + m.waiting.len; n > 2*limit {
			t.Fatalf("%d messages", n)
		}
		if m.phase == running {
			m.taken.pop()
			m.hold(forBackoff)
			m.release(forBackoff)
		}
		m.refill()
	}
	if m.roomAfter(limit) == nil != (m.waiting.len+m.took-limit < limit) {
		t.Error("who waits for room sees it otherwise than who pushes")
	}
}
