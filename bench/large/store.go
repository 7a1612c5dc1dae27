package large

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/bench/child"
	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/durable/lmdb"
	"github.com/coterie-go/coterie/durable/rows"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/storage"
)

const (
	role  = "bench"
	group = 10_000 // elements that are added at once
	// sets have so many elements each, or a tenth of all: a node with a hundred million has a thousand of them.
	perSet  = 100_000
	setsMin = 10
)

// sets is how many sets share so many elements.
func sets(size int) int { return max(setsMin, size/perSet) }

func setName(i int) string { return fmt.Sprint("kept/", i) }

// fillElsewhere fills a store in a process of its own, whose memory ends with it.
func fillElsewhere(ctx context.Context, dir string, size int) error {
	p, err := child.Start(ctx, "fill", dir, size)
	if err != nil {
		return err
	}
	defer p.End()
	said, err := p.Answer()
	if err != nil {
		return fmt.Errorf("the process that fills %s: %w", dir, err)
	}
	if said != "filled" {
		return fmt.Errorf("the process that fills %s says %q", dir, said)
	}
	return nil
}

// Fill is main of a process that writes rows as a node does.
func Fill(dir string, size int) error {
	if err := fillStore(dir, size); err != nil {
		return err
	}
	fmt.Println("filled")
	return nil
}

func fillStore(dir string, size int) error {
	e, err := lmdb.Open(dir, lmdb.Options{})
	if err != nil {
		return err
	}
	t, err := e.Table(rows.Table(keyspace.Dataset{Role: role}))
	if err != nil {
		return err
	}
	keys := sets(size)
	rep := crdt.NewReplica(1, crdt.StoreOptions{LogMax: 1})
	for from := 0; from < size && err == nil; from += group {
		var ch crdt.Changes
		_, err = rep.Update(setName(from/group%keys), 0,
			crdt.Mutate[crdt.ORSet[string]](func(s *crdt.ORSetTx[string]) error {
				for i := from; i < min(from+group, size); i++ {
					if err := s.Add(measure.Scattered(uint64(i))); err != nil {
						return err
					}
				}
				return nil
			}), &ch)
		if err == nil {
			err = commitRows(t, rows.Of(storage.Batch{
				Put: slices.Clone(ch.Put), Clock: rep.Store().Clock().Clone(), Digest: rep.Store().Digest(),
			}))
		}
	}
	return errors.Join(err, e.Close())
}

func commitRows(t durable.Table, all []durable.Row) error {
	answer := make(chan error, 1)
	t.Commit(all, func(err error) { answer <- err })
	return <-answer
}

// scanStore passes over all rows and does nothing with them.
func scanStore(dir string) (perSecond float64, file int64, err error) {
	e, err := lmdb.Open(dir, lmdb.Options{})
	if err != nil {
		return 0, 0, err
	}
	defer e.Close()
	t, err := e.Table(rows.Table(keyspace.Dataset{Role: role}))
	if err != nil {
		return 0, 0, err
	}
	n, start := 0, time.Now()
	err = t.Load(func(durable.Row) error { n++; return nil })
	return float64(n) / time.Since(start).Seconds(), e.Stats().File, err
}
