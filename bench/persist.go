package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/bmatsuo/lmdb-go/lmdb"

	"github.com/coterie-go/coterie/bench/commits"
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding"
	entitystore "github.com/coterie-go/coterie/sharding/persistence/lmdb"
	"github.com/coterie-go/coterie/sharding/persistence/replicated"
)

// runPersist measures event-sourced entities on each store.
func runPersist(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "bench-persist")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, run := range []func(context.Context, string, options) error{persistLMDB, persistReplicated, recoverLMDB} {
		if err := run(ctx, dir, o); err != nil {
			return err
		}
	}
	return persistPostgres(ctx, o)
}

// persistLMDB has one node, with its events in a directory.
func persistLMDB(ctx context.Context, dir string, o options) error {
	store, err := entitystore.Open(filepath.Join(dir, "events"), entitystore.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	region, stop, err := startCounted(ctx, store)
	if err != nil {
		return err
	}
	defer stop()
	raw, err := openRaw(filepath.Join(dir, "raw"))
	if err != nil {
		return err
	}
	defer raw.env.Close()
	return commits.Subject{Store: "lmdb", Region: region, Raw: raw.events}.Run(ctx, o.d)
}

// events puts events in one transaction, as commits.Subject says.
func (s *rawStore) events(_ context.Context, from uint64, events, entities int) error {
	return s.env.Update(func(txn *lmdb.Txn) error {
		for i := range uint64(events) {
			if err := s.event(txn, from+i, (from+i)%uint64(entities)); err != nil {
				return err
			}
		}
		return nil
	})
}

// event puts the rows of an event of an entity: itself, by its entity; where the history of that
// ends; and what readers of all events find it by.
func (s *rawStore) event(txn *lmdb.Txn, number, entity uint64) error {
	id, n := scattered(entity), string(binary.BigEndian.AppendUint64(nil, number))
	return errors.Join(
		txn.Put(s.dbi, []byte("e"+id+n), make([]byte, commits.Body), 0),
		txn.Put(s.dbi, []byte("h"+id), []byte(n), 0),
		txn.Put(s.dbi, []byte("l"+n), []byte(id+n), 0))
}

// startCounted starts a node without a directory of its own, and the measured entities there.
func startCounted(ctx context.Context, store *entitystore.Store) (*sharding.Region[commits.Command], func(), error) {
	nodes, stop, err := startNodes(ctx, 1, nil)
	if err != nil {
		return nil, nil, err
	}
	typ, err := commits.Type(store)
	if err != nil {
		return nil, nil, err
	}
	region, err := sharding.Start(nodes[0], typ)
	return region, stop, err
}

// recoverLMDB measures how fast entities start that have events.
func recoverLMDB(ctx context.Context, dir string, o options) error {
	store, err := entitystore.Open(filepath.Join(dir, "recovery"), entitystore.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	entities := o.size(100_000)
	if err := commits.Fill(ctx, store, entities); err != nil {
		return err
	}
	region, stop, err := startCounted(ctx, store)
	if err != nil {
		return err
	}
	defer stop()
	return commits.Recover(ctx, "lmdb", region, store, entities)
}

// persistReplicated has three nodes, with events in their replicated data. The writers ask at the first
// one, so that two thirds of the entities are elsewhere. The limit writes rows to sets of the same number
// as there are shards, each at one node, so that all nodes write, as those of the entities do.
func persistReplicated(ctx context.Context, dir string, o options) error {
	dirs := make([]string, 3)
	for i := range dirs {
		dirs[i] = filepath.Join(dir, "replicated", strconv.Itoa(i))
	}
	nodes, stop, err := startNodes(ctx, len(dirs), dirs)
	if err != nil {
		return err
	}
	defer stop()
	var regions []*sharding.Region[commits.Command]
	var replicators []*ddata.Replicator
	for _, n := range nodes {
		r, err := n.Replicator(role)
		if err != nil {
			return err
		}
		replicators = append(replicators, r)
		store, err := replicated.Open(n, role)
		if err != nil {
			return err
		}
		typ, err := commits.Type(store)
		if err != nil {
			return err
		}
		region, err := sharding.Start(n, typ)
		if err != nil {
			return err
		}
		regions = append(regions, region)
	}
	body := string(make([]byte, commits.Body))
	return commits.Subject{
		Store: "ddata", Region: regions[0],
		Raw: func(ctx context.Context, from uint64, events, _ int) error {
			shard := from % commits.Shards
			key := ddata.NewKey[crdt.ORSet[string]]("kept/" + strconv.FormatUint(shard, 10))
			at := replicators[shard%uint64(len(replicators))]
			return ddata.Update(ctx, at, key, ddata.WriteMajority, func(s *crdt.ORSetTx[string]) error {
				for i := range uint64(events) {
					if err := s.Add(scattered(from+i) + body); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}.Run(ctx, o.d)
}

// postgresModule has the bench of PostgreSQL: it needs a driver that this module does not.
const postgresModule = "sharding/persistence/postgres"

// persistPostgres runs the bench of that module, from the sources.
func persistPostgres(ctx context.Context, o options) error {
	if _, err := os.Stat(filepath.Join(postgresModule, "go.mod")); errors.Is(err, os.ErrNotExist) {
		fmt.Println("PostgreSQL: NOT TRIED: run this in the directory of the sources")
		return nil
	}
	cmd := exec.CommandContext(ctx, "go", "run", "./commitbench", "-d", o.d.String(), "-n", strconv.Itoa(o.n))
	cmd.Dir, cmd.Stdout, cmd.Stderr = postgresModule, os.Stdout, os.Stderr
	return cmd.Run()
}
