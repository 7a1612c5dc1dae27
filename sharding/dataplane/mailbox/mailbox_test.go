package mailbox

import (
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// sizeOf is what message n counts in bytes; some count nothing.
func sizeOf(n int) uint32 { return uint32(n % 3) }

// envelope is message n; some are questions.
func envelope(n int) Envelope {
	e := Envelope{Msg: n}
	if n%5 == 0 {
		e.Call, e.Origin = uint64(n), uint64(n%2)
	}
	return e
}

// A queue is a FIFO whatever the sizes of its chunks.
func TestQueueAgainstSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue
		var model []int
		next := 0
		push := func(q *queue) {
			q.push(envelope(next), sizeOf(next))
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
					e, size, ok := q.pop()
					if ok != (len(model) > 0) {
						t.Fatalf("pop %v with %d queued", ok, len(model))
					}
					if ok {
						if e != envelope(model[0]) || size != sizeOf(model[0]) {
							t.Fatalf("got %v of %d bytes, want %d of %d", e.Msg, size, model[0], sizeOf(model[0]))
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
				if q != (queue{}) {
					t.Fatal("take left something")
				}
				if q.borrow(&front); len(model) > 0 {
					q.prepend(&front)
				}
			},
			"trim": func(*rapid.T) { q.trim() },
			"": func(t *rapid.T) {
				if int(q.len) != len(model) || q.lead == 0 && q.first != nil {
					t.Fatalf("len %d, want %d", q.len, len(model))
				}
				checkChunks(t, &q)
				at := 0
				q.each(func(e Envelope) {
					if e != envelope(model[at]) {
						t.Fatalf("%d. is %v, want %v", at, e, envelope(model[at]))
					}
					at++
				})
				if at != len(model) {
					t.Fatalf("%d are listed, want %d", at, len(model))
				}
			},
		})
	})
}

// checkChunks fails when an empty chunk is not the only one of a queue, or keeps something.
func checkChunks(t *rapid.T, q *queue) {
	if q.tail == nil {
		return
	}
	for c := q.tail.next; ; c = c.next {
		if c.isEmpty() && (c.next != c || c.from > 0 || c.headed) {
			t.Fatal("an empty chunk is one of several, or not ready")
		}
		for i := range c.msgs {
			if at := uint16(i); (at < c.from || at >= c.to) && c.msgs[i] != nil {
				t.Fatal("a chunk keeps a message that is gone")
			}
		}
		if c == q.tail {
			return
		}
	}
}

// What a mailbox hands to its workers is what was pushed, in order, however their turns end.
func TestMailboxAgainstSlices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const limit = 1000
		var m Mailbox
		var turn Turn
		var waiting, taken []any
		next := 0
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				for range rapid.IntRange(1, 6).Draw(t, "n") {
					if v, _ := m.Push(Envelope{Msg: next}, 0, limit); v == Accepted {
						waiting = append(waiting, next)
					}
					next++
				}
			},
			"refill": func(*rapid.T) {
				if len(taken) == 0 && (m.phase == queued || m.phase == running) {
					if ok, _ := m.Refill(&turn, limit); ok != (len(waiting) > 0) {
						t.Fatalf("refill %v with %d waiting", ok, len(waiting))
					}
					taken, waiting = waiting, nil
				}
			},
			"pop": func(t *rapid.T) {
				for range rapid.IntRange(1, 6).Draw(t, "n") {
					if m.phase == running && len(taken) > 0 {
						if e, _, ok := turn.Next(); !ok || e.Msg != taken[0] {
							t.Fatalf("took %v %v, want %v", e.Msg, ok, taken[0])
						}
						taken = taken[1:]
					}
				}
			},
			"turn ends": func(t *rapid.T) {
				if m.phase != running {
					return
				}
				switch rapid.IntRange(0, 2).Draw(t, "how") {
				case 0:
					m.GiveBack()
				case 1:
					m.Hold(ForBackoff)
				case 2:
					m.Again(StopNow)
					m.Hold(ForLease)
					taken = append([]any{StopNow}, taken...)
				}
				waiting, taken = append(taken, waiting...), nil
			},
			"release": func(*rapid.T) {
				if m.phase >= held {
					m.Release(HoldReason(m.phase - held))
				}
			},
			"": func(t *rapid.T) {
				if int(m.waiting.len) != len(waiting) || turn.Taken() != len(taken) {
					t.Fatalf("%d wait and %d are taken, want %d and %d",
						m.waiting.len, turn.Taken(), len(waiting), len(taken))
				}
				if m.waiting.lead == 0 && m.waiting.first != nil || turn.taken.lead == 0 && turn.taken.first != nil {
					t.Fatal("a message that is gone is kept")
				}
				if (m.turn != nil) != (m.phase == running) {
					t.Fatalf("turn %v in phase %d", m.turn, m.phase)
				}
				checkChunks(t, &m.waiting)
				checkChunks(t, &turn.taken)
				if c := m.waiting.tail; c != nil && c.isEmpty() && m.phase != queued && m.phase != running {
					t.Fatalf("a mailbox in phase %d keeps an empty chunk", m.phase)
				}
			},
		})
	})
}

func TestStaleCommandsEndWithTheirIncarnation(t *testing.T) {
	var m Mailbox
	var turn Turn
	m.HoldNew()
	m.Push(Envelope{Msg: 1}, 0, 10)
	if !m.Begin() {
		t.Fatal("not scheduled")
	}
	if ok, _ := m.Refill(&turn, 10); !ok {
		t.Fatal("empty")
	}
	m.Command(StopNow)
	m.Push(Envelope{Msg: 2}, 0, 10)
	m.Hold(ForStart)
	m.waiting.pop()
	e, _, ok := m.waiting.pop()
	if !ok || e.Msg != 2 || m.waiting.len != 0 || m.is.are(started) {
		t.Errorf("%v %v, %d left", e, ok, m.waiting.len)
	}
}

// An entity whose turns end early, as after a failure, does not make its mailbox grow: each turn
// takes more, and leaves room for less.
func TestMailboxNeverHoldsTwiceItsLimit(t *testing.T) {
	const limit = 10
	var m Mailbox
	var turn Turn
	for range 5 * limit {
		for {
			if v, _ := m.Push(Envelope{}, 0, limit); v != Accepted {
				break
			}
		}
		if n := turn.Taken() + int(m.waiting.len); n > 2*limit {
			t.Fatalf("%d messages", n)
		}
		if m.phase == running {
			turn.Next()
			m.Hold(ForBackoff)
			m.Release(ForBackoff)
		}
		m.Refill(&turn, limit)
	}
	if m.RoomAfter(limit) == nil != (m.waiting.len+turn.over < limit) {
		t.Error("a sender that waits for room and one that pushes see different room")
	}
}

// A worker may have more messages than may wait. A sender that waits for room meanwhile is told
// when these have been handled, also if nothing else has come meanwhile.
func TestRoomAfterExcess(t *testing.T) {
	for name, end := range map[string]func(*Mailbox){
		"handled": func(m *Mailbox) { m.Refill(m.turn, 2) },
		"failed":  func(m *Mailbox) { m.Hold(ForBackoff) },
		"stopped": func(m *Mailbox) { m.Hold(ForStart) },
	} {
		t.Run(name, func(t *testing.T) { roomAfterExcess(t, end) })
	}
}

func roomAfterExcess(t *testing.T, end func(*Mailbox)) {
	const limit = 2
	var m Mailbox
	var turn Turn
	fill := func() {
		for range limit {
			m.Push(Envelope{}, 0, limit)
		}
	}
	fill()
	m.Refill(&turn, limit)
	fill()
	m.GiveBack()
	m.Refill(&turn, limit)
	room := m.RoomAfter(limit)
	if room == nil {
		t.Fatal("there is room beside twice as many as may wait")
	}
	for turn.Taken() > 0 {
		turn.Next()
	}
	end(&m)
	select {
	case <-room:
	default:
		t.Error("the channel does not say that there is room")
	}
}

// A sender that waits for room looks for another way when the mailbox refuses messages.
func TestRoomIsNotAwaitedWhereNoneIsGiven(t *testing.T) {
	for name, refuse := range map[string]func(*Mailbox){
		"sealed": func(m *Mailbox) { NewDrain(func() {}).Seal(m) },
		"shut":   func(m *Mailbox) { m.Shut(func(Envelope, uint32) {}) },
	} {
		t.Run(name, func(t *testing.T) {
			var m Mailbox
			m.Push(Envelope{}, 0, 1)
			room := m.RoomAfter(1)
			if room == nil {
				t.Fatal("there is room beside as many as may wait")
			}
			refuse(&m)
			select {
			case <-room:
			default:
				t.Error("the sender still waits")
			}
			if m.RoomAfter(1) != nil {
				t.Error("another sender would wait")
			}
		})
	}
}

// What goes from the sender's processor to the worker's and back is one cache line.
func TestAMailboxIsACacheLine(t *testing.T) {
	if size := unsafe.Sizeof(Mailbox{}); size != 64 {
		t.Errorf("it has %d bytes", size)
	}
}

// A worker that has messages left takes no others, and no worker takes from a mailbox that another has.
func TestTurnsAreEnforced(t *testing.T) {
	for name, wrong := range map[string]func(*Mailbox, *Turn){
		"messages are left": func(m *Mailbox, turn *Turn) { m.Refill(turn, 9) },
		"another has it":    func(m *Mailbox, _ *Turn) { m.Refill(new(Turn), 9) },
	} {
		t.Run(name, func(t *testing.T) {
			var m Mailbox
			var turn Turn
			m.Push(Envelope{Msg: 1}, 0, 9)
			m.Refill(&turn, 9)
			defer func() {
				if recover() == nil {
					t.Error("it is let")
				}
			}()
			wrong(&m, &turn)
		})
	}
}

// A drain that was taken back hears nothing of mailboxes that come to rest later: another may have
// begun by then.
func TestADrainThatWasTakenBackHearsNothing(t *testing.T) {
	var m Mailbox
	if _, schedule := m.Push(Envelope{Msg: 1}, 0, 9); !schedule {
		t.Fatal("no worker is asked for")
	}
	first, second := 0, 0
	var turn Turn
	rest := func() {
		t.Helper()
		for {
			ok, rested := m.Refill(&turn, 9)
			if rested.Settled(); !ok {
				return
			}
			for turn.Taken() > 0 {
				turn.Next()
			}
		}
	}
	d := NewDrain(func() { first++ })
	d.Seal(&m)
	d.Settled()
	m.Unseal()
	if rest(); first != 0 {
		t.Error("the drain that was taken back ends")
	}
	m.Push(Envelope{Msg: 2}, 0, 9)
	d = NewDrain(func() { second++ })
	d.Seal(&m)
	if d.Settled(); second != 0 {
		t.Error("it ends while a message waits")
	}
	if rest(); first != 0 || second != 1 {
		t.Errorf("the first has ended %d times, the second %d times", first, second)
	}
}

// A mailbox that shall run empty does not wait for the restart of its entity while it has messages.
func TestASealedMailboxAwaitsNoRestart(t *testing.T) {
	for _, sealed := range []bool{false, true} {
		var m Mailbox
		var turn Turn
		m.HoldNew()
		for n := range 2 {
			m.Push(Envelope{Msg: n}, 0, 9)
		}
		m.Begin()
		m.Refill(&turn, 9)
		turn.Next()
		ends := 0
		d := NewDrain(func() { ends++ })
		if sealed {
			d.Seal(&m)
		}
		d.Settled()
		rested, schedule := m.Hold(ForBackoff)
		if rested.Settled(); schedule != sealed || m.State().Awaits(ForBackoff) == sealed {
			t.Fatalf("sealed %v: it is scheduled: %v, %+v", sealed, schedule, m.State())
		}
		if !sealed {
			continue
		}
		m.Refill(&turn, 9)
		if e, _, _ := turn.Next(); e.Msg != 1 || ends != 0 {
			t.Errorf("the next message is %v, drained %d times", e.Msg, ends)
		}
		_, rested = m.Refill(&turn, 9)
		if rested.Settled(); ends != 1 {
			t.Errorf("it was drained %d times", ends)
		}
	}
}

// A mailbox that is closed for good rests: the drain that waits for it ends, once.
func TestADrainEndsWithItsMailbox(t *testing.T) {
	var m Mailbox
	m.HoldNew()
	m.Push(Envelope{Msg: 1}, 0, 9)
	ends, left := 0, 0
	d := NewDrain(func() { ends++ })
	d.Seal(&m)
	if d.Settled(); ends != 0 {
		t.Fatal("it is drained while a message waits")
	}
	for range 2 {
		m.Shut(func(Envelope, uint32) { left++ })
	}
	if ends != 1 || left != 1 {
		t.Errorf("drained %d times, %d messages are left", ends, left)
	}
}
