package repair

import (
	"time"

	"github.com/coterie-go/coterie/crdt"
)

// digestCheck is the comparison of what this replica would hold of the donor's items with the
// digest that the donor has told (R5). What is alive there and was removed here cannot be summed
// here; the donor is asked for its sum.
type digestCheck struct {
	rest []*crdt.Clock // removed here, alive there, not asked about yet
	kept crdt.Digest   // the sum of what was

	batch, at int         // the next of what is alive here and was removed there to be summed
	gone      crdt.Digest // the sum of those before

	after crdt.Dot    // own items up to here that the donor's clock lacks are summed
	mine  crdt.Digest // their sum
	done  bool
}

// checkDigest sums up, and reports whether all is summed up that has to be.
func (p *pull) checkDigest() (ready bool) {
	w := &p.sums
	for len(w.rest) > 0 && p.q.room(p.from) {
		runs := w.rest[0].Split([]uint64{partDots})
		first, rest := runs[0].CutBytes(p.env.FrameMax / 2)
		p.q.ask(p.from, aimKeptSum, first, nil, nil)
		rest.Join(runs[1])
		if w.rest[0] = rest; rest.Empty() {
			w.rest = w.rest[1:]
		}
	}
	summed := p.sumGone()
	if summed && !w.done {
		sum, last := p.own.Sum(p.asked.Minus(p.clock), w.after, WorkItems)
		w.mine = w.mine.Plus(sum)
		w.after, w.done = last, last == (crdt.Dot{})
	}
	p.busy = p.busy || !w.done
	return w.done && len(w.rest) == 0 && !p.q.asking(aimKeptSum)
}

// sumGone adds up some of what is alive here and was removed there, and reports whether that was the
// last of it.
func (p *pull) sumGone() (done bool) {
	w := &p.sums
	for most := WorkItems; w.batch < len(p.diff.gone); w.batch, w.at = w.batch+1, 0 {
		for b := p.diff.gone[w.batch]; w.at < len(b); w.at++ {
			if most--; most < 0 {
				return false
			}
			if it, ok := p.own.Item(b[w.at]); ok {
				w.gone = w.gone.Plus(p.own.Hash(it))
			}
		}
	}
	return true
}

// addsUp reports whether the sum of what is alive at the donor is the digest of the donor's moment.
// The sum begins with what was alive here and has dots in the donor's clock. What the donor has
// removed is taken off. What was removed here, and what was fetched, is added.
func (p *pull) addsUp() bool {
	sum := p.fetch.sum.Plus(p.sums.kept)
	if !p.asked.Empty() {
		sum = sum.Plus(p.own.Digest()).Minus(p.sums.mine)
	}
	return sum.Minus(p.sums.gone) == p.digest
}

// Staged is what a repair has brought, and adds up to the donor's digest. It becomes part of the
// store at one moment however much it is. An item may come only together with the removal of the
// items that its event removed. No replica keeps which event removed what (crdt has no tombstones).
// Half of a repair would show what was replaced beside what replaced it, or have a clock that calls
// the other half removed.
type Staged struct {
	From  crdt.Origin // the donor
	Clock *crdt.Clock // of the donor's moment
	Union bool        // equal clocks and different digests: add, drop nothing (R5)
	Since time.Time   // when the repair began, with this donor or another
	Count uint64      // items that were fetched

	asked *crdt.Clock
	gone  [][]crdt.Dot
	fetch fetch
}

// Batches returns the items that were fetched. They must not be modified.
func (g *Staged) Batches() (all [][]*crdt.Item) {
	for _, b := range g.fetch.batches {
		all = append(all, b.items)
	}
	return all
}

// Merge begins to make what was staged part of the store. The merge takes into account what this
// replica does meanwhile.
func (g *Staged) Merge(rep *crdt.Replica) (*crdt.Merging, error) {
	return rep.BeginMerge(crdt.Difference{
		Clock: g.Clock, Items: g.Batches(), Absent: g.gone,
		Unsure: g.Clock.Minus(g.asked), Live: g.fetch.names.Has,
	})
}
