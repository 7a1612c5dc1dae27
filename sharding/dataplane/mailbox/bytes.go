package mailbox

import (
	"sync"
	"sync/atomic"
)

// What other nodes send waits in mailboxes, and no reader of a connection waits for a mailbox. So
// the bytes that wait are bounded: in one mailbox, in all of a region, and in all regions of a
// node. A message counts from its arrival until it was handled. Messages of this node were not
// encoded and hold the sender back by their number; they count nothing here, and cost their senders
// nothing.

// DefaultNodeBytes bounds the mailboxes of a node, in bytes. Those of mailboxes and regions are
// Limits.
const DefaultNodeBytes = 1 << 30

// Weight is what the messages of other nodes take in one mailbox, in bytes.
type Weight struct{ bytes atomic.Uint32 }

// Reserve takes room in the mailbox for a message of another node, of which it may hold so many
// bytes. A mailbox that holds none takes a message of any size.
func (w *Weight) Reserve(size, most uint32) bool {
	if n := w.bytes.Add(size); n > most && n != size {
		w.bytes.Add(-size)
		return false
	}
	return true
}

// Free gives the room back.
func (w *Weight) Free(size uint32) { w.bytes.Add(-size) }

// Bytes is the size of all that is reserved.
func (w *Weight) Bytes() int { return int(w.bytes.Load()) }

// HeldBytes is what waits in the mailboxes of one region. It takes its part of the node's room in
// steps, so that regions seldom meet there.
type HeldBytes struct {
	used atomic.Int64
	max  int64
	node *NodeBytes // nil: no bound holds for the node, or the region has ended; under mu

	stepped atomic.Int64 // taken from node; changed under mu
	mu      sync.Mutex
}

// NodeStep is what a region takes from its node at a time.
const NodeStep = 1 << 20

// NewHeldBytes makes what holds nothing yet. node is what it takes from; nil: no bound holds there.
func NewHeldBytes(max int64, node *NodeBytes) *HeldBytes { return &HeldBytes{max: max, node: node} }

// Reserve takes room in a mailbox, the region and the node for a message of another node. The mailbox may hold
// so many bytes at most.
func (h *HeldBytes) Reserve(w *Weight, size, most uint32) Verdict {
	if !w.Reserve(size, most) {
		return Heavy
	}
	v := h.Take(int64(size))
	if v != Accepted {
		w.Free(size)
	}
	return v
}

// ReserveAll is Reserve for several messages, of so many bytes together.
func (h *HeldBytes) ReserveAll(w *Weight, size, most uint32) bool {
	// where there is nothing, a message of any size has room: that holds for one
	return size <= most && int64(size) <= h.max && h.Reserve(w, size, most) == Accepted
}

// Free gives back what Reserve has taken.
func (h *HeldBytes) Free(w *Weight, size uint32) {
	w.Free(size)
	h.Release(int64(size))
}

// Used is how much waits.
func (h *HeldBytes) Used() int64 { return h.used.Load() }

// Max is how much may wait.
func (h *HeldBytes) Max() int64 { return h.max }

// Take takes room for a message of another node.
func (h *HeldBytes) Take(n int64) Verdict {
	used := h.used.Add(n)
	v := Accepted
	switch {
	case used > h.max && used != n: // a region that holds nothing takes a message of any size
		v = HeavyRegion
	case used > h.stepped.Load() && !h.step(used):
		v = HeavyNode
	}
	if v != Accepted {
		h.used.Add(-n)
	}
	return v
}

// step takes room for used bytes from the node.
func (h *HeldBytes) step(used int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	need := used - h.stepped.Load()
	if need <= 0 {
		return true
	}
	need = (need + NodeStep - 1) / NodeStep * NodeStep
	if h.node != nil && !h.node.take(need) {
		return false
	}
	h.stepped.Add(need)
	return true
}

// Release gives it back.
func (h *HeldBytes) Release(n int64) {
	used := h.used.Add(-n)
	if h.stepped.Load()-used < 4*NodeStep {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if spare := (h.stepped.Load() - h.used.Load()) / NodeStep * NodeStep; spare > NodeStep {
		h.giveBackLocked(spare - NodeStep)
	}
}

func (h *HeldBytes) giveBackLocked(n int64) {
	h.stepped.Add(-n)
	if h.node != nil {
		h.node.used.Add(-n)
	}
}

// End gives everything back: the region's mailboxes are gone. What a reader still brings takes no
// room from the node.
func (h *HeldBytes) End() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.giveBackLocked(h.stepped.Load())
	h.node = nil
}

// NodeBytes is what the regions of one node have taken.
type NodeBytes struct {
	used, max atomic.Int64
}

// NewNodeBytes makes a bound of which nothing is taken.
func NewNodeBytes(max int64) *NodeBytes {
	b := &NodeBytes{}
	b.SetMax(max)
	return b
}

// SetMax sets how much may be taken. A lower bound holds for what comes.
func (b *NodeBytes) SetMax(max int64) { b.max.Store(max) }

// Used is how much the regions have taken, in steps of NodeStep.
func (b *NodeBytes) Used() int64 { return b.used.Load() }

func (b *NodeBytes) take(n int64) bool {
	if b.used.Add(n) > b.max.Load() {
		b.used.Add(-n)
		return false
	}
	return true
}
