package postgres

import (
	"context"

	"github.com/coterie-go/coterie/sharding/persistence"
)

// Joined is a call of Append, and its answer in a transaction with others.
type Joined struct {
	Hosting   persistence.Hosting
	Writes    []persistence.Write
	OK        bool   // it was answered
	Entered   *int64 // nil: the hosting has not begun; negative: a later one has
	Conflicts []int32
}

// Join makes one transaction of calls of different shards.
func (s *Store) Join(ctx context.Context, calls ...*Joined) {
	group := make([]*joined, len(calls))
	for i, c := range calls {
		part := make([]int, len(c.Writes))
		for n := range part {
			part[n] = n
		}
		group[i] = newJoined(ctx, c.Hosting, c.Writes, part)
	}
	s.joint.transact(group)
	for i, m := range group {
		calls[i].OK, calls[i].Entered, calls[i].Conflicts = m.ok, m.entered, m.conflicts
	}
}
