package sharding

import (
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/transport"
)

// Bounds of the channels that a node remembers without having started a type. Peers choose them, so
// each has a share of its own: one that asks for types without end takes nothing from the others.
const (
	absentMax      = 1 << 12 // of one peer
	absentTotalMax = 1 << 16
)

// keepLocked keeps a type because something is promised to a peer. It reports false if that is no
// member, or has had its share, or all places are taken. What was promised to nodes that are gone
// makes room then: their successors ask again.
func (a *absences) keepLocked(t *absence, peer transport.NodeID, v *membership.View) bool {
	if v == nil || !v.Has(membership.UID(peer)) || a.kept[peer] >= absentMax {
		return false
	}
	if len(a.types) >= absentTotalMax {
		for ch, old := range a.types { // order: all are looked at
			if old.peer != 0 && !v.Has(membership.UID(old.peer)) {
				a.releaseLocked(old)
				delete(a.types, ch)
			}
		}
	}
	if len(a.types) >= absentTotalMax {
		return false
	}
	t.peer = peer
	a.types[t.channel] = t
	a.kept[peer]++
	return true
}

// releaseLocked gives back the place in a peer's share.
func (a *absences) releaseLocked(t *absence) {
	if t.peer == 0 {
		return
	}
	if a.kept[t.peer]--; a.kept[t.peer] == 0 {
		delete(a.kept, t.peer)
	}
	t.peer = 0
}
