package replicator

import (
	"slices"

	"github.com/coterie-go/coterie/crdt"
)

// digestCheck is the comparison of what this replica would hold of the donor's items with the
// digest that the donor has told (R5). What is alive there and was removed here cannot be summed
// here; the donor is asked for its sum.
type digestCheck struct {
	rest *crdt.Clock // removed here, alive there, not asked about yet
	kept crdt.Digest // the sum of what was

	after crdt.Dot    // own items up to here that the donor's clock lacks are summed
	mine  crdt.Digest // their sum
	done  bool
}

// checkDigest sums up, and takes what adds up.
func (s *space) checkDigest() {
	p := s.pull
	w := &p.sums
	for w.rest != nil && !w.rest.Empty() && s.mayPull(p.from) {
		runs := w.rest.Split([]uint64{partDots})
		s.sendAsk(s.ask(p.from, aimKeptSum, runs[0]))
		w.rest = runs[1]
	}
	if !w.done {
		sum, last := p.own.Sum(p.asked.Minus(p.clock), w.after, workItems)
		w.mine = w.mine.Plus(sum)
		w.after, w.done = last, last == (crdt.Dot{})
		p.busy = !w.done
	}
	if !w.done || w.rest != nil && !w.rest.Empty() || p.asking(aimKeptSum) {
		return
	}
	if s.addsUp() || s.m.cfg.Faults.TrustSketch {
		s.flip()
		return
	}
	s.doubt()
}

// addsUp compares the sum of what is alive at the donor with the digest of the donor's moment. The
// sum is made of what was alive here and has dots in the donor's clock, without what the donor has
// removed, with what was removed here, and with what was fetched.
func (s *space) addsUp() bool {
	p := s.pull
	sum := p.fetch.sum.Plus(p.sums.kept)
	if !p.asked.Empty() {
		sum = sum.Plus(p.own.Digest()).Minus(p.sums.mine)
	}
	for _, d := range p.diff.gone {
		if it, ok := p.own.Item(d); ok {
			sum = sum.Minus(p.own.Hash(it))
		}
	}
	return sum == p.digest
}

// doubt looks for what is wrong with what does not add up: items that helpers have brought; the
// difference, which can be found another way; what is here already; the donor.
func (s *space) doubt() {
	p := s.pull
	s.m.stats.RepairAlarms++
	p.busy = true
	switch {
	case p.fetch.distrust(s, p.from):
	case !p.diff.within.Empty() && p.diff.way != byRanges:
		s.nextWay()
	case !p.asked.Empty():
		s.endPull()
		s.startPull(p.from, &noClock)
		s.pull.union, s.pull.since = p.union, p.since
	default:
		s.breakPull()
	}
}

// flip makes what was staged part of the store, in one step however much it is. An item may come
// only together with the removal of the items that its event removed. No replica keeps which event
// removed what (crdt has no tombstones). Half of a repair would show what was replaced beside what
// replaced it, or have a clock that calls the other half removed.
func (s *space) flip() {
	p := s.pull
	s.endPull()
	switch {
	case p.union:
		s.unite(p)
		return
	case !s.merge(p):
		s.ch.Reset()
		s.m.malformed(p.from)
		s.broken(p)
		return
	}
	s.repaired(p)
	s.absorb()
	s.learnContent(p.from, p.clock)
	s.release()
	// What the donor has got since comes from its log. The donor may lack what is here.
	s.tellClock(p.from, true)
}

func (s *space) repaired(p *pull) {
	s.m.stats.Repairs++
	s.tellRepair(p, RepairDone, p.fetch.got)
}

func (s *space) merge(p *pull) bool {
	if p.asked.Empty() && !s.content().Empty() {
		return s.rep.Merge(p.clock, p.fetch.names.Has, p.fetch.all(), &s.ch) == nil
	}
	absent := slices.Clone(p.diff.gone)
	for it := range s.store.In(p.clock.Minus(p.asked), crdt.Dot{}) { // came meanwhile, and was removed there
		if !p.fetch.names.Has(it.Dot) {
			absent = append(absent, it.Dot)
		}
	}
	return s.rep.MergeDiff(p.clock, absent, p.fetch.all(), &s.ch) == nil
}

// unite adds what an equal clock's store has and this one lost. If this replica has moved on, lost
// items cannot be told from removed ones any more: then the next alarm tries again.
func (s *space) unite(p *pull) {
	items := p.fetch.all()
	s.agree(p.from, items)
	if !p.clock.Equal(s.content()) {
		s.broken(p)
		return
	}
	s.rep.Union(items, &s.ch)
	s.repaired(p)
	s.absorb()
}

// agree sees that one dot stands for one item: of two that differ, both sides keep the one whose
// hash is lower. It is right whatever has happened since, for both are alive.
func (s *space) agree(from *peer, items []crdt.Item) {
	lower, differ := s.store.Yield(items, &s.ch)
	s.absorb() // first out, then in: for the disk they are one row
	s.rep.Union(lower, &s.ch)
	s.absorb()
	s.m.stats.Diverged += uint64(len(differ))
	for _, d := range differ[:min(len(differ), divergedMax)] {
		if it, ok := s.store.Item(d); ok {
			s.m.eff.Diverged = append(s.m.eff.Diverged, Divergence{Space: s.id, Peer: from.id, Dot: d, Key: it.Key, Dots: len(differ)})
		}
	}
}
