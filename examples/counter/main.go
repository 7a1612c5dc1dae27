package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/examples/local"
	"github.com/coterie-go/coterie/sharding"
)

func main() {
	store := flag.String("store", "lmdb", "where the events are: lmdb, a file of the one node, or ddata, "+
		"the replicated data of three nodes")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: counter [-store lmdb|ddata] [DIRECTORY]")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() > 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(os.Stdout, *store, cmp.Or(flag.Arg(0), "counter-data")); err != nil {
		log.Fatal(err)
	}
}

// run starts a cluster on a directory, says what the counters are, and counts.
func run(out io.Writer, store, dir string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	kind, found := stores[store]
	if !found {
		return fmt.Errorf("there is no store %q; there are lmdb and ddata", store)
	}
	nodes, err := local.Start(ctx, kind.nodes, ddata.Config{Name: "counting", Roles: []string{role}, Dir: dir})
	if err != nil {
		return err
	}
	journals, end, err := kind.open(dir, nodes)
	if err != nil {
		return errors.Join(err, local.Stop(ctx, nodes))
	}
	defer func() { err = errors.Join(err, local.Stop(ctx, nodes), end()) }()
	regions, err := startCounters(nodes, journals)
	if err != nil {
		return err
	}
	first, last := regions[0], regions[len(regions)-1]
	if err := show(ctx, out, "found", first); err != nil {
		return err
	}
	for id, commands := range map[string][]Command{ // order: each counter counts by itself
		"alice": {Increment{}, Increment{}, Increment{}},
		"bob":   {Increment{}, Decrement{}, Decrement{}, Stop{}, Decrement{}},
	} {
		for _, cmd := range commands {
			if err := last.Tell(ctx, id, cmd); err != nil {
				return err
			}
		}
	}
	return show(ctx, out, "left", last)
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
