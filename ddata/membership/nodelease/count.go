package nodelease

import (
	"cmp"
	"slices"
	"sort"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// vote is what one voter granted.
type vote struct {
	uid view.UID
	grant
}

// tally finds how many of some votes are a quorum.
type tally struct {
	own  view.UID         // a voter whose vote counts without one; 0: none
	rank map[view.UID]int // of each vote, from 1 on
	most int              // the votes up to this rank count
	has  func(view.UID) bool
}

func newTally() *tally {
	t := &tally{rank: make(map[view.UID]int)}
	t.has = func(u view.UID) bool { // made once: it is asked for with each grant
		if t.own != 0 && u == t.own {
			return true
		}
		r := t.rank[u]
		return r != 0 && r <= t.most
	}
	return t
}

// fewest is how many votes are a quorum, the first ones; more than there are: not even all. What contains a
// quorum is one, so the number can be searched for.
func (t *tally) fewest(votes []vote, quorum func(has func(view.UID) bool) bool) int {
	clear(t.rank)
	for i := range votes {
		t.rank[votes[i].uid] = i + 1
	}
	return sort.Search(len(votes)+1, func(n int) bool {
		t.most = n
		return quorum(t.has)
	})
}

// countVotes finds until when a quorum's votes last: the fewest that are one, the longest first.
func (h *Holder) countVotes(s Scene) Lease {
	own, bounded := h.ownVote(s)
	counts := !bounded || own.valid(s.Now)
	votes := h.validVotes(s)
	if h.tally.own = 0; counts {
		h.tally.own = h.cfg.Self
	}
	n := h.tally.fewest(votes, s.Quorum)
	switch {
	case n > len(votes):
		return Lease{epoch: s.Epoch}
	case n == 0 && !bounded:
		return Lease{epoch: s.Epoch, forever: true}
	}
	used := votes[:n]
	if bounded && counts {
		used = append(used, vote{h.cfg.Self, own})
	}
	l := Lease{epoch: s.Epoch, until: used[0].until, wall: used[0].wall}
	for _, v := range used[1:] {
		l.wall = min(l.wall, v.wall)
		if v.until.Before(l.until) {
			l.until = v.until
		}
	}
	return l
}

// validVotes are the grants of other voters, and of the arbiter, that have not run out, the longest
// first. The slice is valid until the next call.
func (h *Holder) validVotes(s Scene) []vote {
	votes := h.valid[:0]
	for i := range s.Voters {
		u := s.Voters[i].UID
		if g := h.grants.get(u); g.valid(s.Now) {
			votes = append(votes, vote{u, g})
		}
	}
	g := h.arbiter
	if h.spoken.until.After(g.until) {
		g = h.spoken
	}
	if g.valid(s.Now) {
		votes = append(votes, vote{h.cfg.Arbiter, g})
	}
	h.valid = votes
	slices.SortFunc(votes, func(a, b vote) int {
		return cmp.Or(b.until.Compare(a.until), cmp.Compare(a.uid, b.uid))
	})
	return votes
}
