package entities

import (
	"slices"
	"sync"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// Passivated is one passivation that the region has seen.
type Passivated struct {
	ID    string
	Shard protocol.ShardID
	Cause protocol.Cause
	At    time.Time
	Limit int // the shard's part of the limit on active entities at that time; 0: there is none
}

// history keeps the latest passivations of a region.
type history struct {
	mu   sync.Mutex
	Ring []Passivated
	next int
}

// HistoryMax is how many passivations are kept.
const HistoryMax = 256

func (h *history) Note(p Passivated) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.Ring) < HistoryMax {
		h.Ring = append(h.Ring, p)
		return
	}
	h.Ring[h.next] = p
	h.next = (h.next + 1) % HistoryMax
}

// Of lists those of an entity, the latest first.
func (h *history) Of(id string) (all []Passivated) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.Ring {
		if p := h.Ring[(h.next+i)%len(h.Ring)]; p.ID == id {
			all = append(all, p)
		}
	}
	slices.Reverse(all)
	return all
}
