package push

import (
	"fmt"
	"time"

	"github.com/coterie-go/coterie/ddata/runloop/timer"
)

// Assembly puts the parts of a message from one peer together. One message comes at a time, and is
// kept for a while after its last part.
//
// Invariant: dropAt is set while buf is not empty.
type Assembly struct {
	flow   uint64 // that is coming, or came last
	total  uint32
	got    uint32
	buf    []byte
	dropAt time.Time // when to give up what is coming
	closed bool      // it has come whole, or was given up
	moved  uint64    // parts that have come
}

// Arrival is what became of a part.
type Arrival uint8

// What became of it.
const (
	Foreign  Arrival = iota // it belongs to no message that is coming
	Kept                    // it is acknowledged; more is to come, or it has come before
	Complete                // it was the last
)

// Add takes a part. With the last one it returns the message. It fails when the message is larger
// than bytesMax. Without another part it is given up at dropAt.
func (a *Assembly) Add(p Part, bytesMax int, dropAt time.Time) ([]byte, Arrival, error) {
	if p.Flow > a.flow {
		a.flow, a.total, a.got, a.buf, a.closed = p.Flow, p.Total, 0, nil, false
	}
	if p.Flow != a.flow || p.Total != a.total {
		return nil, Foreign, nil
	}
	if !a.closed && p.Index == a.got {
		if len(a.buf)+len(p.Data) > bytesMax {
			return nil, Foreign, fmt.Errorf("more than %d bytes", bytesMax)
		}
		a.buf = append(a.buf, p.Data...)
		a.got++
		a.moved++
		a.dropAt = dropAt
	}
	if a.closed || a.got < a.total {
		return nil, Kept, nil
	}
	whole := a.buf
	a.buf, a.closed, a.dropAt = nil, true, time.Time{}
	return whole, Complete, nil
}

// Next returns the flow that is coming and the part that is due.
func (a *Assembly) Next() (flow uint64, part uint32) { return a.flow, a.got }

// Coming returns the flow that is coming, and whether it still is.
func (a *Assembly) Coming() (flow uint64, open bool) { return a.flow, !a.closed }

// Moved counts the parts that have come.
func (a *Assembly) Moved() uint64 { return a.moved }

// Bytes returns how many bytes of an unfinished message are kept.
func (a *Assembly) Bytes() int { return len(a.buf) }

// DropAt returns when to give up what is coming; zero: never.
func (a *Assembly) DropAt() time.Time { return a.dropAt }

// Due reports whether it is time to give up, and clears that time if so.
func (a *Assembly) Due(now time.Time) bool { return timer.Due(&a.dropAt, now) }

// GiveUp forgets the parts of a message whose sender has fallen silent. If the sender goes on after
// all, it is told that all parts have come. It then gets no ack of what was in the message, and
// sends that again.
func (a *Assembly) GiveUp() { a.buf, a.closed, a.got, a.dropAt = nil, true, a.total, time.Time{} }

// Check returns a broken invariant.
func (a *Assembly) Check() error {
	if len(a.buf) > 0 && a.dropAt.IsZero() {
		return fmt.Errorf("%d bytes have come and no timer runs", len(a.buf))
	}
	return nil
}
