package transporttest

import (
	"encoding/binary"
	"sync"
	"sync/atomic"

	"github.com/coterie-go/coterie/ddata/transport"
)

// recorder is a handler that keeps the numbers that it received, per sender of the test (not node),
// and notices when it is entered twice at a time for one stripe.
type recorder struct {
	mu      sync.Mutex
	got     map[uint32][]uint64 // by source
	total   int
	inside  [16]atomic.Int32 // by stripe
	overlap atomic.Bool
	before  func()        // called in every Receive, outside the lock
	moved   chan struct{} // capacity 1: something was received
}

func newRecorder() *recorder {
	return &recorder{got: map[uint32][]uint64{}, moved: make(chan struct{}, 1)}
}

// message is {stripe u32, source u32, number u64, padding}.
func message(stripe, source uint32, number uint64, size int) []byte {
	b := make([]byte, max(size, 16))
	binary.LittleEndian.PutUint32(b, stripe)
	binary.LittleEndian.PutUint32(b[4:], source)
	binary.LittleEndian.PutUint64(b[8:], number)
	return b
}

// Receive takes one message.
func (r *recorder) Receive(_ transport.NodeID, payload []byte) {
	stripe, source := binary.LittleEndian.Uint32(payload), binary.LittleEndian.Uint32(payload[4:])
	if r.inside[stripe].Add(1) != 1 {
		r.overlap.Store(true)
	}
	if r.before != nil {
		r.before()
	}
	r.mu.Lock()
	r.got[source] = append(r.got[source], binary.LittleEndian.Uint64(payload[8:]))
	r.total++
	r.mu.Unlock()
	r.inside[stripe].Add(-1)
	select {
	case r.moved <- struct{}{}:
	default:
	}
}

func (r *recorder) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.total
}

func (r *recorder) of(source uint32) []uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]uint64(nil), r.got[source]...)
}

// last is the last number of a source, zero when there is none.
func (r *recorder) last(source uint32) uint64 {
	got := r.of(source)
	if len(got) == 0 {
		return 0
	}
	return got[len(got)-1]
}

// rising reports whether every number of a source is above the one before: order, and nothing
// twice.
func rising(numbers []uint64) bool {
	for i := 1; i < len(numbers); i++ {
		if numbers[i] <= numbers[i-1] {
			return false
		}
	}
	return true
}
