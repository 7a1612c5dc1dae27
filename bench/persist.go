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
	"time"

	"github.com/bmatsuo/lmdb-go/lmdb"

	"github.com/coterie-go/coterie/bench/commits"
	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence"
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
	for _, run := range []func(context.Context, string, options) error{persistLMDB, persistReplicated, recoverLMDB,
		recoverReplicated} {
		if err := run(ctx, dir, o); err != nil {
			return err
		}
	}
	return benchPostgres(ctx, o, "-n", o.n)
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
	id, n := measure.Scattered(entity), string(binary.BigEndian.AppendUint64(nil, number))
	return errors.Join(
		txn.Put(s.dbi, []byte("e"+id+n), make([]byte, commits.Body), 0),
		txn.Put(s.dbi, []byte("h"+id), []byte(n), 0),
		txn.Put(s.dbi, []byte("l"+n), []byte(id+n), 0))
}

// measured is a region of the measured entities.
type measured = sharding.Region[commits.Command]

// startCounted starts a node without a directory of its own, and the measured entities there.
func startCounted(ctx context.Context, store *entitystore.Store) (*measured, func(), error) {
	nodes, stop, err := startNodes(ctx, 1, nil)
	if err != nil {
		return nil, nil, err
	}
	region, err := commits.Start(nodes, func(*ddata.Node) (persistence.Journal, error) { return store, nil })
	return region, stop, err
}

// recoverLMDB measures how fast entities start that have events.
func recoverLMDB(ctx context.Context, dir string, o options) error {
	store, err := entitystore.Open(filepath.Join(dir, "recovery"), entitystore.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	return commits.Recover(ctx, "lmdb", store, o.size(100_000),
		func() (*measured, func(), error) { return startCounted(ctx, store) })
}

// recoverReplicated has three nodes. The entities are asked at the first one; two thirds are elsewhere.
// Their million of events takes about 0.3 GB on each node, and all nodes are in this process.
func recoverReplicated(ctx context.Context, dir string, o options) error {
	nodes, stop, err := startReplicated(ctx, filepath.Join(dir, "recovery-replicated"))
	if err != nil {
		return err
	}
	defer stop()
	store, err := replicated.Open(nodes[0], role)
	if err != nil {
		return err
	}
	return commits.Recover(ctx, "ddata", store, o.size(10_000), func() (*measured, func(), error) {
		region, err := commits.Start(nodes, replicatedAt)
		return region, func() {}, err
	})
}

// startReplicated starts three nodes that have directories.
func startReplicated(ctx context.Context, dir string) ([]*ddata.Node, func(), error) {
	dirs := []string{filepath.Join(dir, "0"), filepath.Join(dir, "1"), filepath.Join(dir, "2")}
	return startNodes(ctx, len(dirs), dirs)
}

func replicatedAt(n *ddata.Node) (persistence.Journal, error) { return replicated.Open(n, role) }

// persistReplicated has three nodes, with events in their replicated data. The writers ask at the first
// one, so that two thirds of the entities are elsewhere. The limit writes rows to sets of the same number
// as there are shards, each at one node, so that all nodes write, as those of the entities do.
func persistReplicated(ctx context.Context, dir string, o options) error {
	nodes, stop, err := startReplicated(ctx, filepath.Join(dir, "replicated"))
	if err != nil {
		return err
	}
	defer stop()
	region, err := commits.Start(nodes, replicatedAt)
	if err != nil {
		return err
	}
	body := string(make([]byte, commits.Body))
	return commits.Subject{
		Store: "ddata", Region: region,
		Raw: func(ctx context.Context, from uint64, events, _ int) error {
			shard := from % commits.Shards
			key := ddata.NewKey[crdt.ORSet[string]]("kept/" + strconv.FormatUint(shard, 10))
			at, err := nodes[shard%uint64(len(nodes))].Replicator(role)
			if err != nil {
				return err
			}
			return ddata.Update(ctx, at, key, ddata.WriteMajority, func(s *crdt.ORSetTx[string]) error {
				for i := range uint64(events) {
					if err := s.Add(measure.Scattered(from+i) + body); err != nil {
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

// benchPostgres builds the bench of that module from the sources, and runs it with a number for a flag of
// it. At the end of ctx it is interrupted: it has a server to stop.
func benchPostgres(ctx context.Context, o options, flag string, n int) error {
	if _, err := os.Stat(filepath.Join(postgresModule, "go.mod")); errors.Is(err, os.ErrNotExist) {
		fmt.Println("PostgreSQL: NOT TRIED: run this in the directory of the sources")
		return nil
	}
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "commitbench")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./commitbench")
	build.Dir, build.Stdout, build.Stderr = postgresModule, os.Stdout, os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build commitbench: %w", err)
	}
	cmd := exec.CommandContext(ctx, program, "-d", o.d.String(), flag, strconv.Itoa(n))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(os.Interrupt) }, time.Minute
	return cmd.Run()
}
