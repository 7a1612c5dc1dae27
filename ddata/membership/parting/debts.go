package parting

import (
	"maps"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Debts are the nodes that do not know yet of a view that this node has decided. The zero Debts is
// empty.
type Debts struct{ owed map[view.UID]debt }

// debt is one node that has to hear of a view.
type debt struct {
	addr  string
	epoch view.Epoch // of the decided view
	heard time.Time  // when a message of it last came
}

// Decide notes which nodes have to hear of a view that this node, self, has just decided, and that
// follows the installed one. Members that stay with this node show by their heartbeats what they
// know.
func (d *Debts) Decide(self view.UID, installed *view.Installed, next *view.View, reach *downing.Reach) {
	stays := next.Has(self)
	for _, o := range installed.Members {
		if o.UID == self || stays && next.Has(o.UID) || !reach.Hears(o.UID) {
			continue
		}
		if d.owed == nil {
			d.owed = make(map[view.UID]debt)
		}
		d.owed[o.UID] = debt{addr: o.Addr, epoch: next.Epoch, heard: reach.LastHeard(o.UID)}
	}
}

// Hear notes that a node still speaks.
func (d *Debts) Hear(u view.UID, now time.Time) {
	if x, owed := d.owed[u]; owed {
		x.heard = now
		d.owed[u] = x
	}
}

// Forget drops the nodes that have been silent for so long that they are gone.
func (d *Debts) Forget(now time.Time, silence time.Duration) {
	maps.DeleteFunc(d.owed, func(_ view.UID, x debt) bool { return now.Sub(x.heard) > silence })
}

// Learn notes that a node knows the view of an epoch. It reports whether nothing is owed to it any
// more because of that.
func (d *Debts) Learn(u view.UID, e view.Epoch) bool {
	x, owed := d.owed[u]
	if !owed || x.epoch > e {
		return false
	}
	delete(d.owed, u)
	return true
}

// Drop reports whether something is owed to a node, which is over now.
func (d *Debts) Drop(u view.UID) bool {
	_, owed := d.owed[u]
	delete(d.owed, u)
	return owed
}

// Empty reports whether nothing is owed.
func (d *Debts) Empty() bool { return len(d.owed) == 0 }

func (d *Debts) uids() []view.UID { return slices.Sorted(maps.Keys(d.owed)) }
