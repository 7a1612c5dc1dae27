package sights

import (
	"fmt"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest/sim/history"
)

// Sights are what one replica showed of sets when they were read last.
type Sights map[*history.Set]*sight

type sight struct {
	was   crdt.Reader
	seen  history.Seen
	looks int
}

// wholeEvery is how many looks at a set there are to one at all its elements. Where that finds something else than
// was followed, some write has changed memory that states share.
const wholeEvery = 256

// Look returns the entries of a set that a reader of the replica shows.
func (s Sights) Look(b *history.Set, now crdt.Reader) (history.Seen, error) {
	k := s[b]
	if k == nil {
		k = &sight{}
		s[b] = k
	}
	for it := range crdt.Diff(k.was, now) {
		elem, err := crdt.DecodeElement[string](it.Path[1:]) // behind its kind
		if err != nil {
			return nil, err
		}
		if e := b.ByElem[elem]; e != nil {
			k.seen.Note(e, now.Has(it.Path))
		}
	}
	k.was = now
	if k.looks++; k.looks%wholeEvery == 0 {
		set, err := crdt.ORSet[string]{}.View(now)
		if err != nil {
			return nil, err
		}
		if all := b.Seen(set.All()); !all.Equal(k.seen) {
			return nil, fmt.Errorf("%s shows entries %x, by what has differed from read to read %x", b.Key, all, k.seen)
		}
	}
	return k.seen, nil
}
