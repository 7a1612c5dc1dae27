package directories

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/durable/rows"
	"github.com/coterie-go/coterie/replicator/storage"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// table is the replica in one directory.
type table struct {
	rows    durable.Table
	replica *crdt.Replica
	torn    storage.PartialBatch // what a crash of the node has left; the first commit clears it
}

func load(t durable.Table) (*table, error) {
	l, err := rows.Load(t)
	if err != nil {
		return nil, err
	}
	out := &table{rows: t, replica: crdt.NewReplica(originFor(l.Clock), crdt.StoreOptions{}), torn: l.Partial}
	if l.Clock != nil {
		err = out.replica.Load(l.Clock, l.Digest, l.Items)
	}
	return out, err
}

// originFor draws an origin that is above all that are over: of those, other nodes have all events.
func originFor(c *crdt.Clock) crdt.Origin {
	var least view.UID
	if c != nil {
		for r := range c.Rows(0) {
			if _, last := r.Origins(); r.Wide() {
				least = max(least, view.UID(last)+1)
			}
		}
	}
	return crdt.Origin(view.DrawUID(time.Now(), least, rand.Uint64()))
}

// write carries out a change of a set.
func (t *table) write(key string, w protocol.StateWrite) error {
	var ch crdt.Changes
	if _, err := t.replica.Update(key, 0, w.Mutate, &ch); err != nil {
		return err
	}
	return t.commit(ch)
}

// commit has the table follow the replica.
func (t *table) commit(ch crdt.Changes) error {
	store := t.replica.Store()
	b := storage.Batch{
		Put: slices.Clone(ch.Put), Clock: store.Clock().Clone(), Digest: store.Digest(),
		Drop: t.torn.Drop, Unmark: t.torn.Marks,
	}
	for _, it := range ch.Dropped {
		b.Drop = append(b.Drop, it.Dot)
	}
	answer := make(chan error, 1)
	t.rows.Commit(rows.Of(b), func(err error) { answer <- err })
	if err := <-answer; err != nil {
		return err
	}
	t.torn = storage.PartialBatch{}
	return nil
}

// joined is what all tables come to.
func joined(tables []*table) (*crdt.Store, error) {
	all := crdt.NewStore(crdt.StoreOptions{})
	for _, t := range tables {
		from := t.replica.Store().Snapshot()
		items := make([]crdt.Item, 0, from.Len())
		for it := range from.Items() {
			items = append(items, *it)
		}
		if err := all.Merge(from.Clock(), from.Live, items, nil); err != nil {
			return nil, err
		}
	}
	return all, nil
}
