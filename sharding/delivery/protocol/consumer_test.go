package protocol

import (
	"testing"
	"time"
)

// What an earlier incarnation has confirmed is delivered by none that follows, also if it had come
// before the word about that.
func TestConfirmedIsNotDeliveredAgain(t *testing.T) {
	now := time.Unix(1000, 0)
	c := NewConsumer(ConsumerConfig{}, "e", 2)
	session := Session{Generation: 1, Channel: 1}
	var delivered []uint64
	step := func(in ConsumerInput) {
		t.Helper()
		if p := c.Step(now, in).Deliver; p != nil {
			delivered = append(delivered, p.Seq)
		}
		c.check()
	}
	packet := func(seq, base uint64) Packet {
		return Packet{Origin: 7, Producer: "p", Session: session, Seq: seq, Base: base}
	}
	handled := func(seq uint64) Handled {
		return Handled{Incarnation: 2, Producer: "p", Session: session, Seq: seq}
	}
	for seq := range uint64(3) {
		step(packet(1+seq, 1))
	}
	step(packet(6, 6))
	if s := c.Stats(); s.Buffered != 1 {
		t.Errorf("%d packets wait", s.Buffered)
	}
	step(handled(1))
	step(handled(6))
	step(packet(7, 7))
	if len(delivered) != 3 || delivered[0] != 1 || delivered[1] != 6 || delivered[2] != 7 {
		t.Errorf("delivered %d", delivered)
	}
}

// What waits behind the message that the handler has, and that one, are a window together.
func TestNoMoreThanTheWindowWaits(t *testing.T) {
	const window = 4
	c := NewConsumer(ConsumerConfig{Window: window, BufferMax: 100}, "e", 2)
	for seq := range uint64(window + 2) {
		c.Step(time.Unix(1000, 0), Packet{
			Origin: 7, Producer: "p", Session: Session{Generation: 1, Channel: 1}, Seq: seq + 1, Base: 1,
		})
		c.check()
		s := c.Stats()
		if want := int(min(seq, window-1)); s.Buffered != want || s.Delivered != 1 {
			t.Errorf("after packet %d %d wait, want %d; %d are delivered", seq+1, s.Buffered, want, s.Delivered)
		}
	}
	if s := c.Stats(); s.Refused != 1 || s.Gaps != 1 {
		t.Errorf("%d refused, %d behind a missing one", s.Refused, s.Gaps)
	}
}
