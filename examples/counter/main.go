package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence/lmdb"
)

func main() {
	flag.Usage = func() { fmt.Fprintln(flag.CommandLine.Output(), "usage: counter DIRECTORY") }
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(os.Stdout, "127.0.0.1:7946", flag.Arg(0)); err != nil {
		log.Fatal(err)
	}
}

// run starts a cluster of one node on a directory, says what the counters are, and counts.
func run(out io.Writer, bind, dir string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	// The events are on the disk of this one node. Several nodes share a journal, such as one of
	// persistence/postgres.
	journal, err := lmdb.Open(filepath.Join(dir, "events"), lmdb.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	node, err := ddata.Start(ctx, ddata.Config{
		Name: "counting", Bind: bind, BootstrapExpect: 1, Roles: []string{"backend"}, Dir: filepath.Join(dir, "node"),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, node.Leave(ctx)) }()

	typ, err := counterType(journal)
	if err != nil {
		return err
	}
	counters, err := sharding.Start(node, typ)
	if err != nil {
		return err
	}
	if err := show(ctx, out, "found", counters); err != nil {
		return err
	}
	for id, commands := range map[string][]Command{ // order: each counter counts by itself
		"alice": {Increment{}, Increment{}, Increment{}},
		"bob":   {Increment{}, Decrement{}, Decrement{}, Stop{}, Decrement{}},
	} {
		for _, cmd := range commands {
			if err := counters.Tell(ctx, id, cmd); err != nil {
				return err
			}
		}
	}
	return show(ctx, out, "left", counters)
}

// show asks the counters.
func show(ctx context.Context, out io.Writer, what string, counters *sharding.Region[Command]) error {
	for _, id := range []string{"alice", "bob"} {
		count, err := sharding.Ask(ctx, counters.Ref(id), Get{})
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, what, id, "at", count); err != nil {
			return err
		}
	}
	return nil
}
