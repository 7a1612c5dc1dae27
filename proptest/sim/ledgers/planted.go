package ledgers

import (
	"context"
	"errors"
	"strconv"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/proptest/sim/journals"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remember"
	"github.com/coterie-go/coterie/sharding/remember/journaled"
)

// anyHosting has a planted defect: what a hosting that is over wants to write is written all the same, at
// the end of the history.
type anyHosting struct {
	*journaled.Store
	journal *journals.Door
	typ     string // of the journal
}

// On implements remember.Scheduled.
func (s anyHosting) On(by scheduler.Scheduler) remember.Store {
	s.Store = s.Store.On(by).(*journaled.Store)
	return s
}

// Update implements remember.Store.
func (s anyHosting) Update(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, add, remove []protocol.EntityID,
) error {
	err := s.Store.Update(ctx, by, shard, add, remove)
	if !errors.Is(err, remember.ErrFenced) {
		return err
	}
	c := changed{By: term{Era: uint64(by.Era), Epoch: uint64(by.Epoch), Up: by.Up, Seq: by.Seq}}
	for _, id := range add {
		c.Added = append(c.Added, []byte(id))
	}
	for _, id := range remove {
		c.Removed = append(c.Removed, []byte(id))
	}
	e, err := forms.Encode(c)
	if err != nil {
		return err
	}
	h := persistence.Hosting{Type: s.typ, Shard: shard}
	id := protocol.EntityID("ids/" + strconv.FormatUint(uint64(shard), 10))
	ends, err := s.journal.Load(ctx, h, []persistence.Read{{Entity: id}},
		func(int, persistence.Event) error { return nil })
	if err != nil {
		return err
	}
	last := ends[0].Last
	refused, err := s.journal.Append(ctx, h, []persistence.Write{{
		Entity: id, After: last, ID: last,
		Events: []persistence.Event{{Seq: last + 1, Name: e.Name, Version: e.Version, Body: e.Body}},
	}})
	if len(refused) > 0 {
		err = refused[0].Err
	}
	return err
}
