package main

import (
	"path/filepath"

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
