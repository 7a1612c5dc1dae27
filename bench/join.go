package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"time"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/proptest/ports"
)

// joinKeys is over how many sets the items are spread.
const joinKeys = 10

// runJoin measures how long an empty node takes until it is a full member of a running one that
// holds many items: real nodes on loopback in one process. Beside it a node that joins one without
// items, and the cost of the items alone: encoded, decoded and merged in place.
func runJoin(ctx context.Context, o options) error {
	n := o.size(1_000_000)
	empty, err := joinNode(ctx, 0)
	if err != nil {
		return err
	}
	j, err := joinNode(ctx, n)
	if err != nil {
		return err
	}
	var limit measure.Cost
	snap := j.state
	if err := limit.Measure(n, func() error { return takeOver(snap) }); err != nil {
		return err
	}
	var f measure.Figures
	f.Add("seconds", j.took.Seconds())
	f.Add("seconds_without_items", empty.took.Seconds())
	f.Add("items_per_s", int(float64(n)/j.took.Seconds()))
	f.Add("mb", float64(j.bytes)/1e6)
	f.Add("bytes_per_item", float64(j.bytes-empty.bytes)/float64(n))
	f.Add("limit_seconds", limit.Wall.Seconds())
	f.Add("ratio", j.took.Seconds()/limit.Wall.Seconds())
	measure.Report("join", "items-"+strconv.Itoa(n), f)
	return nil
}

type joined struct {
	took  time.Duration
	bytes uint64 // that the old node sent meanwhile
	state []*crdt.Item
}

func joinNode(ctx context.Context, n int) (j joined, err error) {
	nodes, stop, err := startNodes(ctx, 1, nil)
	if err != nil {
		return j, err
	}
	defer stop()
	r, err := nodes[0].Replicator(role)
	if err != nil {
		return j, err
	}
	for from := 0; from < n; from += 1000 {
		err := ddata.Update(ctx, r, joinKey(from/1000), ddata.WriteLocal, func(s *crdt.ORSetTx[string]) (err error) {
			for i := from; i < min(n, from+1000) && err == nil; i++ {
				err = s.Add(element(i))
			}
			return err
		})
		if err != nil {
			return j, err
		}
	}
	addrs, err := ports.Free(1)
	if err != nil {
		return j, err
	}
	sent, start := nodes[0].TransportStats().BytesOut, time.Now()
	late, err := ddata.Start(ctx, ddata.Config{
		Name: "bench", Bind: addrs[0], Seeds: []string{nodes[0].Addr()}, Roles: []string{role}, Preset: ddata.Local,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		return j, err
	}
	defer late.Close()
	j.took, j.bytes = time.Since(start), nodes[0].TransportStats().BytesOut-sent
	lr, err := late.Replicator(role)
	if err != nil {
		return j, err
	}
	held := 0
	for k := range joinKeys {
		reader, err := lr.Get(ctx, joinKey(k).Name(), ddata.ReadLocal)
		if err != nil {
			return j, err
		}
		for it := range reader.Items("") {
			j.state = append(j.state, it)
		}
		held += reader.Len()
	}
	if held != n {
		return j, fmt.Errorf("the new member holds %d of %d items", held, n)
	}
	return j, nil
}

func joinKey(i int) ddata.Key[crdt.ORSet[string]] {
	return ddata.NewKey[crdt.ORSet[string]]("set-" + strconv.Itoa(i%joinKeys))
}

// takeOver does to items what cannot be spared: encodes and decodes them in batches and merges them
// into an empty store.
func takeOver(items []*crdt.Item) error {
	clock := &crdt.Clock{}
	var all []crdt.Item
	for len(items) > 0 {
		k := min(2000, len(items))
		batch, err := crdt.DecodeItems(crdt.AppendItems(nil, items[:k]))
		if err != nil {
			return err
		}
		for i := range batch {
			clock.Add(batch[i].Dot)
		}
		all, items = append(all, batch...), items[k:]
	}
	s := crdt.NewStore(crdt.StoreOptions{})
	if err := s.MergeDiff(clock, nil, all, nil); err != nil {
		return err
	}
	if s.Len() != len(all) {
		return errors.New("items were lost")
	}
	return nil
}
