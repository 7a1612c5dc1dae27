package dataplane

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

// Bounds, in bytes; those of mailboxes and regions are Limits.
const (
	DefaultNodeBytes = 1 << 30
	// releaseStep is how much a worker has handled before it gives that back within a turn.
	releaseStep = 64 << 10
)

// bytesOf is what a message of another node counts.
func bytesOf(m *codec.Message) uint32 { return uint32(len(m.Body)) + BufferedOverhead }

// reserve takes room in the mailbox, the region and the node for a message of another node.
func (e *Entity) reserve(size uint32) verdict {
	r := e.Shard.region
	if n := e.bytes.Add(size); n > r.MailboxBytes && n != size { // an empty mailbox takes a message of any size
		e.bytes.Add(-size)
		return heavy
	}
	v := r.Held.Take(int64(size))
	if v != Accepted {
		e.bytes.Add(-size)
	}
	return v
}

// released gives the room back.
func (e *Entity) released(size uint32) {
	if size > 0 {
		e.bytes.Add(-size)
		e.Shard.region.Held.Release(int64(size))
	}
}

// HeldBytes is what waits in the mailboxes of one region. It takes its part of the node's room in
// steps, so that regions seldom meet there.
type HeldBytes struct {
	Used atomic.Int64
	Max  int64
	Node *NodeBytes

	stepped atomic.Int64 // taken from node; changed under mu
	mu      sync.Mutex
}

// NodeStep is what a region takes from its node at a time.
const NodeStep = 1 << 20

// Take takes room for a message of another node.
func (h *HeldBytes) Take(n int64) verdict {
	used := h.Used.Add(n)
	v := Accepted
	switch {
	case used > h.Max && used != n: // a region that holds nothing takes a message of any size
		v = heavyRegion
	case used > h.stepped.Load() && !h.step(used):
		v = heavyNode
	}
	if v != Accepted {
		h.Used.Add(-n)
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
	if h.Node != nil && !h.Node.take(need) {
		return false
	}
	h.stepped.Add(need)
	return true
}

// Release gives it back.
func (h *HeldBytes) Release(n int64) {
	used := h.Used.Add(-n)
	if h.stepped.Load()-used < 4*NodeStep {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if spare := (h.stepped.Load() - h.Used.Load()) / NodeStep * NodeStep; spare > NodeStep {
		h.giveBackLocked(spare - NodeStep)
	}
}

func (h *HeldBytes) giveBackLocked(n int64) {
	h.stepped.Add(-n)
	if h.Node != nil {
		h.Node.Used.Add(-n)
	}
}

// End gives everything back: the region's mailboxes are gone. What a reader still brings takes no
// room from the node.
func (h *HeldBytes) End() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.giveBackLocked(h.stepped.Load())
	h.Node = nil
}

// NodeBytes is what the regions of one node have taken.
type NodeBytes struct {
	Used atomic.Int64
	Max  atomic.Int64
}

func (b *NodeBytes) take(n int64) bool {
	if b.Used.Add(n) > b.Max.Load() {
		b.Used.Add(-n)
		return false
	}
	return true
}
