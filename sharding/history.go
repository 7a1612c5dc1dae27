package sharding

import (
	"slices"
	"sync"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// passivated is one passivation that the region has seen.
type passivated struct {
	id    string
	shard int
	cause protocol.Cause
	at    time.Time
	limit int // the shard's part of the limit on active entities at that time; 0: there is none
}

// history keeps the latest passivations of a region.
type history struct {
	mu   sync.Mutex
	ring []passivated
	next int
}

const historyMax = 256

func (h *history) note(p passivated) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.ring) < historyMax {
		h.ring = append(h.ring, p)
		return
	}
	h.ring[h.next] = p
	h.next = (h.next + 1) % historyMax
}

// of lists those of an entity, the latest first.
func (h *history) of(id string) (all []passivated) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.ring {
		if p := h.ring[(h.next+i)%len(h.ring)]; p.id == id {
			all = append(all, p)
		}
	}
	slices.Reverse(all)
	return all
}
