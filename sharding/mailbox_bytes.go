package sharding

import (
	"sync"
	"sync/atomic"

	"github.com/coterie-go/coterie/sharding/codec"
)

// What other nodes send waits in mailboxes, and no reader of a connection waits for a mailbox. So
// the bytes that wait are bounded: in one mailbox, in all of a region, and in all regions of a
// node. A message counts from its arrival until it was handled. Messages of this node were not
// encoded and hold the sender back by their number; they count nothing here, and cost their senders
// nothing.

// Defaults of the bounds, in bytes.
const (
	defaultMailboxBytes = 32 << 20
	defaultRegionBytes  = 256 << 20
	defaultNodeBytes    = 1 << 30
	mailboxBytesMost    = 1 << 30 // highest MailboxBytes
	// releaseStep is how much a worker has handled before it gives that back within a turn.
	releaseStep = 64 << 10
)

// bytesOf is what a message of another node counts.
func bytesOf(m *codec.Message) uint32 { return uint32(len(m.Body)) + bufferedOverhead }

// reserve takes room in the mailbox, the region and the node for a message of another node.
func (e *entity) reserve(size uint32) verdict {
	r := e.shard.region
	if n := e.bytes.Add(size); n > r.mailboxBytes && n != size { // an empty mailbox takes a message of any size
		e.bytes.Add(-size)
		return heavy
	}
	v := r.held.take(int64(size))
	if v != accepted {
		e.bytes.Add(-size)
	}
	return v
}

// released gives the room back.
func (e *entity) released(size uint32) {
	if size > 0 {
		e.bytes.Add(-size)
		e.shard.region.held.release(int64(size))
	}
}

// heldBytes is what waits in the mailboxes of one region. It takes its part of the node's room in
// steps, so that regions seldom meet there.
type heldBytes struct {
	used atomic.Int64
	max  int64
	node *nodeBytes

	stepped atomic.Int64 // taken from node; changed under mu
	mu      sync.Mutex
}

// nodeStep is what a region takes from its node at a time.
const nodeStep = 1 << 20

func (h *heldBytes) take(n int64) verdict {
	used := h.used.Add(n)
	v := accepted
	switch {
	case used > h.max && used != n: // a region that holds nothing takes a message of any size
		v = heavyRegion
	case used > h.stepped.Load() && !h.step(used):
		v = heavyNode
	}
	if v != accepted {
		h.used.Add(-n)
	}
	return v
}

// step takes room for used bytes from the node.
func (h *heldBytes) step(used int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	need := used - h.stepped.Load()
	if need <= 0 {
		return true
	}
	need = (need + nodeStep - 1) / nodeStep * nodeStep
	if h.node != nil && !h.node.take(need) {
		return false
	}
	h.stepped.Add(need)
	return true
}

func (h *heldBytes) release(n int64) {
	used := h.used.Add(-n)
	if h.stepped.Load()-used < 4*nodeStep {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if spare := (h.stepped.Load() - h.used.Load()) / nodeStep * nodeStep; spare > nodeStep {
		h.giveBackLocked(spare - nodeStep)
	}
}

func (h *heldBytes) giveBackLocked(n int64) {
	h.stepped.Add(-n)
	if h.node != nil {
		h.node.used.Add(-n)
	}
}

// end gives everything back: the region's mailboxes are gone. What a reader still brings takes no
// room from the node.
func (h *heldBytes) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.giveBackLocked(h.stepped.Load())
	h.node = nil
}

// nodeBytes is what the regions of one node have taken.
type nodeBytes struct {
	used atomic.Int64
	max  atomic.Int64
}

func (b *nodeBytes) take(n int64) bool {
	if b.used.Add(n) > b.max.Load() {
		b.used.Add(-n)
		return false
	}
	return true
}
