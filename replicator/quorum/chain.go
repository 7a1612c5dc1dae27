package quorum

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/coterie-go/coterie/crdt"
)

// PastView is a view that may not be settled: what a joint quorum still counts.
type PastView struct {
	Epoch  uint64
	Voters []crdt.Origin // sorted
	// instead of voters: one set of the disks of a cold start, sorted; its epoch is just one of
	// those before the founding
	Disks []uint64
}

func (p PastView) hasVoter(id crdt.Origin) bool {
	_, ok := slices.BinarySearch(p.Voters, id)
	return ok
}

// Chain is what one replica knows of the views that may not be settled. The zero value knows
// nothing and is not complete.
//
// Invariants: known is in order of epochs, all below the installed one's and none below settled.
type Chain struct {
	epoch   uint64        // of the installed view
	voters  []crdt.Origin // of the installed view, sorted
	settled uint64        // the newest epoch known to be settled, 0: none
	// the views before the installed one, as far as known; after a cold start the sets of disks
	// stand for them
	known []PastView
	// some view that was filled in may have had voters that neither neighbour has
	doubtful bool
}

// Settled returns the newest epoch that is known to be settled; 0: none.
func (c *Chain) Settled() uint64 { return c.settled }

// Unsettled reports whether the installed view is not known to be settled.
func (c *Chain) Unsettled() bool { return c.settled < c.epoch }

// Known returns the views before the installed one, as far as known. The caller must not change
// them.
func (c *Chain) Known() []PastView { return c.known }

// Complete reports whether every view since the settled one is known. A quorum that left one out
// would promise nothing.
func (c *Chain) Complete() bool {
	if c.settled == 0 {
		return false
	}
	if c.settled >= c.epoch {
		return true
	}
	from := c.epoch
	for i := len(c.known) - 1; i >= 0 && c.known[i].Epoch == from-1; i-- {
		from--
	}
	return c.settled >= from
}

// Newest returns the newest epoch that is known to be settled, 0: none. As long as disks stand for
// the views before a cold start, or while that is not known, the numbers are those of no real
// views.
func (c *Chain) Newest() uint64 {
	if !c.Complete() || len(c.known) > 0 && len(c.known[0].Disks) > 0 {
		return 0
	}
	return c.settled
}

// Wants reports whether a disk is one of the disks that have to be heard.
func (c *Chain) Wants(disk uint64) bool {
	return slices.ContainsFunc(c.known, func(p PastView) bool { return slices.Contains(p.Disks, disk) })
}

// Pasts returns the unsettled views before the installed one, each with other voters than its
// successor, the newest first.
func (c *Chain) Pasts() []PastView {
	var out []PastView
	next := c.voters
	for _, p := range slices.Backward(c.known) {
		if p.Epoch < c.settled {
			break
		}
		if len(p.Disks) > 0 || !slices.Equal(p.Voters, next) {
			out = append(out, p)
		}
		next = p.Voters
	}
	return out
}

// Since returns the first epoch whose reports say all about the unsettled views.
func (c *Chain) Since() uint64 {
	if ps := c.Pasts(); len(ps) > 0 {
		return ps[0].Epoch + 1
	}
	return c.epoch
}

// Install takes notice of the view that is installed now, with its voters sorted by id.
func (c *Chain) Install(epoch uint64, voters []crdt.Origin) { c.epoch, c.voters = epoch, voters }

// Found begins the chain of a cold start: the sets of disks stand for the views before the founding
// one, fewer sets than its epoch, oldest first.
func (c *Chain) Found(sets [][]uint64) {
	c.settled = c.epoch - uint64(len(sets))
	for i, disks := range sets {
		c.Add(PastView{Epoch: c.settled + uint64(i), Disks: disks})
	}
}

// fillMost bounds how many views Fill makes up.
const fillMost = 1 << 12

// Fill takes each view since the settled one that is not known for one with the voters of its
// successor. It is for a chain whose members have all said which views they know: none of them has
// installed these, so that none has acknowledged anything there.
func (c *Chain) Fill() {
	if c.settled == 0 || c.epoch-c.settled > fillMost {
		return
	}
	next := c.voters
	for e := c.epoch - 1; e >= c.settled; e-- {
		i, is := c.find(e)
		if !is {
			c.doubtful = c.doubtful || i == 0 || !slices.Equal(c.known[i-1].Voters, next)
			c.known = slices.Insert(c.known, i, PastView{Epoch: e, Voters: next})
		}
		next = c.known[i].Voters
	}
}

// Doubtful reports whether an unsettled view was filled in that may have had other voters than its
// neighbours. What only these knew is not known to be there.
func (c *Chain) Doubtful() bool { return c.doubtful }

func (c *Chain) find(epoch uint64) (int, bool) {
	return slices.BinarySearchFunc(c.known, epoch,
		func(a PastView, e uint64) int { return cmp.Compare(a.Epoch, e) })
}

// Add enters a view into the known ones, unless it is settled history or known already.
func (c *Chain) Add(p PastView) {
	i, ok := c.find(p.Epoch)
	if !ok && p.Epoch < c.epoch && p.Epoch >= c.settled {
		c.known = slices.Insert(c.known, i, p)
	}
}

// Settle makes history of all views before an epoch. It reports whether the installed view is
// settled by that and was not before.
func (c *Chain) Settle(epoch uint64) bool {
	was := c.settled
	c.settled = epoch
	c.known = slices.DeleteFunc(c.known, func(p PastView) bool { return p.Epoch < epoch })
	c.doubtful = c.doubtful && c.Unsettled()
	return was < c.epoch && epoch >= c.epoch
}

// Check returns a broken invariant.
func (c *Chain) Check() error {
	for i, p := range c.known {
		if p.Epoch < c.settled || p.Epoch >= c.epoch || i > 0 && c.known[i-1].Epoch >= p.Epoch {
			return fmt.Errorf("view %v is known, settled %d, installed %d", p.Epoch, c.settled, c.epoch)
		}
	}
	return nil
}
