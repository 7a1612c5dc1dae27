package paxos

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Ballot orders attempts to decide one epoch. The zero ballot is below all.
type Ballot struct {
	_     struct{} `cbor:",toarray"`
	Round uint64
	UID   view.UID
}

// Less reports whether b is below o.
func (b Ballot) Less(o Ballot) bool { return b.compare(o) < 0 }

func (b Ballot) compare(o Ballot) int {
	return cmp.Or(cmp.Compare(b.Round, o.Round), cmp.Compare(b.UID, o.UID))
}

// String prints round and proposer.
func (b Ballot) String() string { return fmt.Sprintf("%d.%v", b.Round, b.UID) }

// Proposal is what is decided: the next view, and which of the members that it drops have said that
// they stopped.
type Proposal struct {
	_       struct{} `cbor:",toarray"`
	View    *view.View
	Stopped []view.UID // sorted
}

// Unconsented returns the members of the view before that the proposal drops without their having
// stopped.
func (p *Proposal) Unconsented(before *view.View) (drops []view.UID) {
	for _, o := range before.Members {
		if _, stopped := slices.BinarySearch(p.Stopped, o.UID); !stopped && !p.View.Has(o.UID) {
			drops = append(drops, o.UID)
		}
	}
	return drops
}

// String prints the view and the members that have stopped.
func (p *Proposal) String() string {
	if p == nil {
		return "nothing"
	}
	if len(p.Stopped) == 0 {
		return p.View.String()
	}
	return fmt.Sprintf("%v stopped %v", p.View, p.Stopped)
}
