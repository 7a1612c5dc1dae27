package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/lmdb"
	"github.com/coterie-go/coterie/sharding/persistence/replicated"
)

const role = "backend"

// stores are the places for events that the program can be told to use.
var stores = map[string]struct {
	nodes int
	open  func(dir string, nodes []*ddata.Node) (of []persistence.Journal, end func() error, err error)
}{
	"lmdb":  {1, onDisk},
	"ddata": {3, inReplicas},
}

// onDisk keeps the events in a file of this process. So it is for one node.
func onDisk(dir string, _ []*ddata.Node) ([]persistence.Journal, func() error, error) {
	journal, err := lmdb.Open(filepath.Join(dir, "events"), lmdb.Options{})
	if err != nil {
		return nil, nil, err
	}
	return []persistence.Journal{journal}, journal.Close, nil
}

// inReplicas keeps the events in the replicated data of the nodes, which their directories hold.
func inReplicas(_ string, nodes []*ddata.Node) (of []persistence.Journal, end func() error, err error) {
	for _, n := range nodes {
		journal, err := replicated.Open(n, role)
		if err != nil {
			return nil, nil, err
		}
		of = append(of, journal)
	}
	return of, func() error { return nil }, nil // it ends with its node
}

// startNodes starts a cluster with one node at each address. Its nodes found it together, so they
// start side by side.
func startNodes(ctx context.Context, dir string, binds []string) (nodes []*ddata.Node, err error) {
	nodes, errs := make([]*ddata.Node, len(binds)), make([]error, len(binds))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	for i, bind := range binds {
		all.Go(func() {
			c := ddata.Config{
				Name: "counting", Bind: bind, BootstrapExpect: len(binds), Roles: []string{role},
				Dir: filepath.Join(dir, fmt.Sprint("node", i+1)),
			}
			if len(binds) > 1 {
				c.Seeds = binds
			}
			if nodes[i], errs[i] = ddata.Start(ctx, c); errs[i] != nil {
				cancel() // the others wait for it in vain
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		for _, n := range nodes {
			if n != nil {
				err = errors.Join(err, n.Close())
			}
		}
		return nil, err
	}
	return nodes, nil
}

// stopNodes stops the whole cluster.
func stopNodes(ctx context.Context, nodes []*ddata.Node) error {
	errs := []error{nodes[0].PrepareForShutdown(ctx)}
	for _, n := range nodes {
		errs = append(errs, n.Leave(ctx))
	}
	return errors.Join(errs...)
}

// startCounters starts the counters on each node, over its journal.
func startCounters(nodes []*ddata.Node, of []persistence.Journal) (out []*sharding.Region[Command], err error) {
	for i, n := range nodes {
		typ, err := counterType(of[i])
		if err != nil {
			return nil, err
		}
		region, err := sharding.Start(n, typ)
		if err != nil {
			return nil, err
		}
		out = append(out, region)
	}
	return out, nil
}
