package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/durable/lmdb"
	"github.com/coterie-go/coterie/durable/rows"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/sharding/persistence/postgres"
	"github.com/coterie-go/coterie/sharding/remember/directories"
	"github.com/coterie-go/coterie/sharding/remember/journaled"
	"github.com/coterie-go/coterie/sharding/remember/transfer"
)

func copyVerb(flags *flag.FlagSet) job {
	to := flags.String("to", "", "journal or directories")
	role := flags.String("role", "", "the role of the type")
	replace := flags.Bool("replace", false, "take out what only the target has")
	dry := flags.Bool("n", false, "only count")
	return func(ctx context.Context, s *postgres.Store, typ string, dirs []string, out io.Writer) (err error) {
		if *role == "" || len(dirs) == 0 || *to != "journal" && *to != "directories" {
			return fmt.Errorf("%w: copy: name -to journal or -to directories, the -role, and the directories of "+
				"all its nodes behind the flags", errUsage)
		}
		journal, err := journaled.New(journaled.Config{Type: typ, Journal: s, Snapshots: s})
		if err != nil {
			return err
		}
		tables, closeAll, err := openTables(*role, dirs)
		defer func() { err = errors.Join(err, closeAll()) }()
		if err != nil {
			return err
		}
		nodes, err := directories.Open(typ, tables...)
		if err != nil {
			return err
		}
		o := transfer.Options{Replace: *replace, DryRun: *dry}
		var c transfer.Counts
		if *to == "journal" {
			c, err = transfer.Copy(ctx, nodes, journal, o)
			journal.Tidy(ctx)
		} else {
			c, err = transfer.Copy(ctx, journal, nodes, o)
		}
		done := "copied and compared"
		switch {
		case errors.Is(err, transfer.ErrOthers):
			return fmt.Errorf("%w; -replace takes them out", err)
		case err != nil:
			return err
		case *dry:
			done = "would be copied"
		}
		fmt.Fprintf(out, "type=%s role=%s to=%s %v %s\n", typ, *role, *to, c, done)
		return nil
	}
}

// openTables opens the table with the remembered ids of a role in each directory.
func openTables(role string, dirs []string) (tables []durable.Table, closeAll func() error, err error) {
	var envs []*lmdb.Env
	closeAll = func() (err error) {
		for _, e := range envs {
			err = errors.Join(err, e.Close())
		}
		return err
	}
	for _, dir := range dirs {
		e, err := lmdb.OpenExisting(dir, lmdb.Options{})
		if err != nil {
			return nil, closeAll, err
		}
		envs = append(envs, e)
		t, err := e.Table(rows.Table(keyspace.Dataset{Role: role, Reserved: true}))
		if err != nil {
			return nil, closeAll, err
		}
		tables = append(tables, t)
	}
	return tables, closeAll, nil
}
