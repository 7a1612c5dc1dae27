package receipt

import (
	"encoding/binary"
	"io"
	"math"
)

// What a receiver sends: receipts, eight bytes each, little endian, or one of two words in place of
// one.
const (
	wordSize = 8

	// EndAsked asks the sender to end the connection.
	EndAsked uint64 = math.MaxUint64
	// AllReceived says that the receipt before it was the last, and nothing else was received.
	AllReceived uint64 = math.MaxUint64 - 1
)

// Reader reads what a receiver sends.
type Reader struct {
	from io.Reader
	b    [wordSize]byte
}

// NewReader returns a reader of what comes from a connection.
func NewReader(from io.Reader) *Reader { return &Reader{from: from} }

// Next returns the next receipt, or word in place of one.
func (r *Reader) Next() (uint64, error) {
	_, err := io.ReadFull(r.from, r.b[:])
	return binary.LittleEndian.Uint64(r.b[:]), err
}

// Ending is what a link hears of the end of one connection.
type Ending struct {
	asked chan struct{} // closed when the receiver wants the end
	known bool          // the last receipt says all that was received
}

// NewEnding returns the ending of a connection of which nothing has been heard.
func NewEnding() *Ending { return &Ending{asked: make(chan struct{})} }

// Hear takes a number that is at least AllReceived, and so no receipt. It reports whether another
// one may follow.
func (e *Ending) Hear(word uint64) bool {
	if word == AllReceived {
		e.known = true
		return false
	}
	if e.IsAsked() {
		return false
	}
	close(e.asked)
	return true
}

// Asked is closed when the receiver wants the end.
func (e *Ending) Asked() <-chan struct{} { return e.asked }

// IsAsked reports whether the receiver wants the end.
func (e *Ending) IsAsked() bool {
	select {
	case <-e.asked:
		return true
	default:
		return false
	}
}

// Known reports whether the last receipt says all that was received. It may be called when the
// connection has ended, and no Hear is to come.
func (e *Ending) Known() bool { return e.known }
