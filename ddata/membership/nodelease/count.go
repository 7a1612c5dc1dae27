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

// countVotes finds until when a quorum's votes last: the fewest that are one, the longest first.
// What contains a quorum is one, so the number can be searched for.
func (h *Holder) countVotes(s Scene) Lease {
	own, bounded := h.ownVote(s)
	counts := !bounded || own.valid(s.Now)
	votes := h.validVotes(s)
	rank := h.rank
	clear(rank)
	for i, v := range votes {
		rank[v.uid] = i + 1
	}
	enough := func(n int) bool {
		return s.Quorum(func(u view.UID) bool {
			if u == h.cfg.Self && counts {
				return true
			}
			r := rank[u]
			return r != 0 && r <= n
		})
	}
	n := sort.Search(len(votes)+1, enough)
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
	for _, v := range s.Voters {
		if g := h.grants[v.UID]; g.valid(s.Now) {
			votes = append(votes, vote{v.UID, g})
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
