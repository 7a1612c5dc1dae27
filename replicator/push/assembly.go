package push

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/runloop/timer"
)

// Assembly puts the parts of a message from one peer together. One message comes at a time. Its last
// part is acknowledged when it is decoded, so that the peer's next message does not come before; or
// when it comes again, so that a peer does not give up what takes long to decode.
//
// Invariants: bytes is the size of buf; dropAt is set while buf is not empty; what is whole is closed.
type Assembly struct {
	flow   uint64 // that is coming, or came last
	total  uint32
	got    uint32
	buf    [][]byte  // what they hold, one after the other
	bytes  int       // of buf
	dropAt time.Time // when to give up what is coming
	closed bool      // it has come whole, or was given up
	whole  bool      // it has come whole, and is not decoded yet
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

// Add takes a part, and may keep its Data. With the last one it returns the message, in pieces. It
// fails when the message is larger than bytesMax. Without another part it is given up at dropAt.
func (a *Assembly) Add(p Part, bytesMax int, dropAt time.Time) ([][]byte, Arrival, error) {
	if p.Flow > a.flow {
		a.clear()
		a.flow, a.total, a.got, a.closed, a.whole = p.Flow, p.Total, 0, false, false
	}
	if p.Flow != a.flow || p.Total != a.total {
		return nil, Foreign, nil
	}
	if !a.closed && p.Index == a.got {
		if a.bytes+len(p.Data) > bytesMax {
			return nil, Foreign, fmt.Errorf("more than %d bytes", bytesMax)
		}
		a.keep(p.Data)
		a.got++
		a.moved++
		a.dropAt = dropAt
	}
	if a.closed || a.got < a.total {
		return nil, Kept, nil
	}
	whole := a.buf
	a.clear()
	a.closed, a.dropAt, a.whole = true, time.Time{}, true
	return whole, Complete, nil
}

// pieceMin is the least memory that is allocated for parts. Small ones share it.
const pieceMin = 4 << 10

// keep keeps what a part holds. A large one is not copied.
func (a *Assembly) keep(data []byte) {
	a.bytes += len(data)
	if n := len(a.buf); n > 0 && cap(a.buf[n-1])-len(a.buf[n-1]) >= len(data) {
		a.buf[n-1] = append(a.buf[n-1], data...)
		return
	}
	if len(data) < pieceMin {
		a.buf = append(a.buf, append(make([]byte, 0, pieceMin), data...))
		return
	}
	a.buf = append(a.buf, slices.Clip(data))
}

func (a *Assembly) clear() { a.buf, a.bytes = nil, 0 }

// Decoded notes that a message is decoded, and reports whether it is the one that came last.
func (a *Assembly) Decoded(flow uint64) bool {
	last := a.whole && flow == a.flow
	a.whole = a.whole && !last
	return last
}

// Next returns the flow that is coming and the part that is due.
func (a *Assembly) Next() (flow uint64, part uint32) { return a.flow, a.got }

// Coming returns the flow that is coming, and whether it still is.
func (a *Assembly) Coming() (flow uint64, open bool) { return a.flow, !a.closed }

// Moved counts the parts that have come.
func (a *Assembly) Moved() uint64 { return a.moved }

// Bytes returns how many bytes of an unfinished message are kept.
func (a *Assembly) Bytes() int { return a.bytes }

// DropAt returns when to give up what is coming; zero: never.
func (a *Assembly) DropAt() time.Time { return a.dropAt }

// Due reports whether it is time to give up, and clears that time if so.
func (a *Assembly) Due(now time.Time) bool { return timer.Due(&a.dropAt, now) }

// GiveUp forgets the parts of a message whose sender has fallen silent. If the sender goes on after
// all, it is told that all parts have come. It then gets no ack of what was in the message, and
// sends that again.
func (a *Assembly) GiveUp() {
	a.clear()
	a.closed, a.got, a.dropAt = true, a.total, time.Time{}
}

// Check returns a broken invariant.
func (a *Assembly) Check() error {
	switch {
	case a.bytes > 0 && a.dropAt.IsZero():
		return fmt.Errorf("%d bytes have come and no timer runs", a.bytes)
	case a.whole && !a.closed:
		return errors.New("a message is whole, of which parts are to come")
	}
	return nil
}
