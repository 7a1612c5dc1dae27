package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strconv"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator"
	"github.com/coterie-go/coterie/replicator/wire"
)

// runReconcile lets two replicas of a large set find in what they differ and repair each other,
// until both hold the same. They are the machines themselves, over encoded messages, loaded from
// rows, so that no log helps. The bytes are of all messages of both ways, gossip included, without
// the keys, paths and payloads of the items that differ. Beside it what it costs to send the whole
// state one way and to merge it.
func runReconcile(ctx context.Context, o options) error {
	n := o.size(1_000_000)
	source, err := manyElements(ctx, n)
	if err != nil {
		return err
	}
	snap := source.Store().Snapshot()
	whole, state, err := wholeState(source, snap)
	if err != nil {
		return err
	}
	for _, c := range []struct {
		name        string
		put, remove bool
	}{{"mixed", true, true}, {"removes", false, true}, {"puts", true, false}} {
		for _, d := range []int{1, 100, 1_000, 10_000} {
			if d > n/10 {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := reconcileOne(snap, c.name+"-"+strconv.Itoa(d), diverged(d, c.put, c.remove),
				whole, state); err != nil {
				return err
			}
		}
	}
	return nil
}

func reconcileOne(snap *crdt.Snapshot, name string, apart [2]change, whole measure.Cost, state int) error {
	var rows [2]replicator.Loaded
	for i := range rows {
		var err error
		if rows[i], err = apart[i].rows(snap, crdt.Origin(100+i)); err != nil {
			return err
		}
	}
	p, err := startPair(rows)
	if err != nil {
		return err
	}
	if p.digest(0) == p.digest(1) {
		return fmt.Errorf("%s: the replicas do not differ", name)
	}
	var spent measure.Cost
	err = spent.Measure(1, func() error {
		for range 4 {
			if err := p.gossip(); err != nil || p.digest(0) == p.digest(1) {
				return err
			}
		}
		return errors.New(name + ": the replicas still differ")
	})
	if err != nil {
		return err
	}
	var f measure.Figures
	f.Add("bytes", p.bytes-p.payload)
	f.Add("payload_bytes", p.payload)
	f.Add("messages", p.messages)
	f.Add("rounds", float64(p.trips)/2)
	f.Add("cpu_ms", float64(spent.CPU.Microseconds())/1e3)
	f.Add("cells", p.m[0].Stats().SketchCells+p.m[1].Stats().SketchCells)
	f.Add("repairs", p.m[0].Stats().Repairs+p.m[1].Stats().Repairs)
	f.Add("limit_bytes_whole_state", state)
	f.Add("limit_cpu_ms_whole_state", float64(whole.CPU.Microseconds())/1e3)
	f.Add("ratio", float64(state)/float64(p.bytes-p.payload)) // so many times less
	measure.Report("reconcile", name, f)
	return nil
}

const reconcileKey = "set"

func reconcileElement(i int) string { return fmt.Sprintf("element-%08d", i) }

// manyElements makes a set, one event per element.
func manyElements(ctx context.Context, n int) (*crdt.Replica, error) {
	r := crdt.NewReplica(crdt.Origin(rand.Uint64()|1), crdt.StoreOptions{})
	return r, addElements(ctx, r, 0, n)
}

func addElements(ctx context.Context, r *crdt.Replica, from, to int) error {
	for i := from; i < to; i++ {
		_, err := r.Update(reconcileKey, 0, crdt.Mutate[crdt.ORSet[string]](func(s *crdt.ORSetTx[string]) error {
			return s.Add(reconcileElement(i))
		}), nil)
		if err != nil || i%4096 == 0 && ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
	}
	return nil
}

// change is what one replica has done that the other has not seen.
type change struct{ puts, removes int }

// diverged shares d differences out to both replicas.
func diverged(d int, put, remove bool) (out [2]change) {
	for i := range d {
		switch c := &out[i%2]; {
		case put && (!remove || i/2%2 == 0):
			c.puts++
		default:
			c.removes++
		}
	}
	return out
}

// rows are those of a replica that held the snapshot and has made the change as origin o.
func (c change) rows(snap *crdt.Snapshot, o crdt.Origin) (replicator.Loaded, error) {
	own := crdt.NewReplica(o, crdt.StoreOptions{})
	from := int(o) * 1_000_000_000
	if err := addElements(context.Background(), own, from, from+c.puts); err != nil {
		return replicator.Loaded{}, err
	}
	clock, sum := snap.Clock().Clone(), snap.Digest().Plus(own.Store().Digest())
	clock.AddRange(o, 1, uint64(c.puts+c.removes)) // a removal is an event too
	gone := map[crdt.Dot]bool{}
	rng := rand.New(rand.NewPCG(uint64(o), 1))
	var all crdt.Range
	for r := range snap.Clock().Ranges() {
		all = r
	}
	for len(gone) < c.removes {
		d := crdt.Dot{Origin: all.Origin, Seq: all.First + rng.Uint64N(all.Last-all.First+1)}
		if it, ok := snap.Item(d); ok && !gone[d] {
			gone[d] = true
			sum = sum.Minus(crdt.HashItem(0, it))
		}
	}
	items := func(yield func(crdt.Item, error) bool) {
		for _, s := range []*crdt.Snapshot{snap, own.Store().Snapshot()} {
			for it := range s.Items() {
				if !gone[it.Dot] && !yield(*it, nil) {
					return
				}
			}
		}
	}
	return replicator.Loaded{Clock: clock, Digest: sum, Items: iter.Seq2[crdt.Item, error](items)}, nil
}

// wholeState measures what it takes to encode all items, to decode them, and to merge them where
// they are already.
func wholeState(r *crdt.Replica, snap *crdt.Snapshot) (spent measure.Cost, bytes int, err error) {
	err = spent.Measure(1, func() error {
		var frame []*crdt.Item
		var items []crdt.Item
		flush := func() error {
			b := crdt.AppendItems(nil, frame)
			bytes += len(b)
			got, err := crdt.DecodeItems(b)
			items = append(items, got...)
			frame = frame[:0]
			return err
		}
		for it := range snap.Items() {
			if frame = append(frame, it); len(frame) == 1024 {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		if len(frame) > 0 {
			if err := flush(); err != nil {
				return err
			}
		}
		return r.Merge(snap.Clock(), snap.Live, items, nil)
	})
	return spent, bytes, err
}

// payloadOf counts the bytes of the items that a message of a repair brings: the keys once per run,
// the paths and the payloads.
func payloadOf(m wire.Message) int {
	give, ok := m.(*wire.Items)
	if !ok {
		return 0
	}
	n := 0
	for i, it := range give.Items {
		n += len(it.Path) + len(it.Payload)
		if i == 0 || give.Items[i-1].Key != it.Key {
			n += len(it.Key)
		}
	}
	return n
}
