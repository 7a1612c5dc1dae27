package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/replicator/wire"
)

// runIdle counts what two replicas of many keys say to each other when nothing changes, and when
// one key differs: once with a change that the log of the one still holds, once with nothing but
// the items. They are the machines themselves, loaded from rows, over encoded messages. Beside it
// what telling a hash of 8 bytes of every key would cost.
func runIdle(ctx context.Context, o options) error {
	n := o.size(1_000_000)
	source, err := manyKeys(ctx, n)
	if err != nil {
		return err
	}
	snap := source.Store().Snapshot()
	for _, c := range []struct {
		name string
		lack crdt.Dot // what the second replica's rows do not have
		want func(p *pair) error
	}{
		{"equal", crdt.Dot{}, func(p *pair) error { return p.gossip() }},
		{"one-key-logged", crdt.Dot{}, func(p *pair) error { return p.changeOne() }},
		{"one-key-unlogged", crdt.Dot{Origin: source.Origin(), Seq: uint64(n/2 + 1)},
			func(p *pair) error { return p.gossip() }},
	} {
		p, err := newPair(snap, c.lack)
		if err != nil {
			return err
		}
		var cost measure.Cost
		if err := cost.Measure(1, func() error { return c.want(p) }); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		if p.digest(0) != p.digest(1) {
			return fmt.Errorf("%s: the replicas still differ", c.name)
		}
		var f measure.Figures
		f.Add("bytes", p.bytes)
		f.Add("messages", p.messages)
		f.Add("one_way_trips", p.trips)
		f.Add("cpu_ms", float64(cost.CPU.Microseconds())/1e3)
		f.Add("limit_bytes_of_key_hashes", 8*n)
		f.Add("ratio", float64(p.bytes)/float64(8*n))
		measure.Report("idle", c.name+"-"+strconv.Itoa(n), f)
	}
	return nil
}

// manyKeys makes counters that were incremented once.
func manyKeys(ctx context.Context, n int) (*crdt.Replica, error) {
	r := crdt.NewReplica(crdt.Origin(rand.Uint64()|1), crdt.StoreOptions{})
	for i := range n {
		if _, err := count1(r, i); err != nil || i%4096 == 0 && ctx.Err() != nil {
			return nil, errors.Join(err, ctx.Err())
		}
	}
	return r, nil
}

func count1(r *crdt.Replica, i int) (crdt.Group, error) {
	return r.Update("counter-"+strconv.Itoa(i), 0,
		crdt.Mutate[crdt.GCounter](func(c *crdt.GCounterTx) error { return c.Increment(1) }), nil)
}

// pair is two replicas and the wire between them, in a time of its own.
type pair struct {
	m   [2]*replicator.Machine
	now time.Time

	queue                  []parcel
	bytes, messages, trips int
	payload                int // of bytes, the keys, paths and payloads of repaired items
}

// parcel is an encoded message to one of the two.
type parcel struct {
	to   int
	body []byte
}

var pairIDs = [2]crdt.Origin{1, 2}

// newPair loads both from the items of a snapshot, the second without one of them, and lets them
// say what they have to say at the start.
func newPair(snap *crdt.Snapshot, lack crdt.Dot) (*pair, error) {
	var rows [2]replicator.Loaded
	for i := range rows {
		rows[i] = replicator.Loaded{
			Clock: snap.Clock().Clone(), Digest: snap.Digest(), Items: itemsOf(snap, crdt.Dot{}),
		}
		if it, ok := snap.Item(lack); ok && i == 1 {
			without := &crdt.Clock{}
			without.Add(lack)
			rows[i].Clock, rows[i].Digest = snap.Clock().Minus(without), snap.Digest().Minus(crdt.HashItem(0, it))
			rows[i].Items = itemsOf(snap, lack)
		}
	}
	return startPair(rows)
}

// startPair loads both from rows and lets them say what they have to say at the start.
func startPair(rows [2]replicator.Loaded) (*pair, error) {
	p := &pair{now: time.Unix(1, 0)}
	view := replica.View{Epoch: 1, Founded: true, Voters: []replica.Member{{ID: pairIDs[0]}, {ID: pairIDs[1]}}}
	for i := range p.m {
		cfg := settings.Config{Self: pairIDs[i], DurableKeys: []string{"*"}}
		m, err := replicator.New(cfg, rand.New(rand.NewPCG(1, uint64(i))), rows[i])
		if err != nil {
			return nil, err
		}
		p.m[i] = m
	}
	for i := range p.m {
		p.step(i, replicator.Install{View: view})
		p.now = p.now.Add(100 * time.Millisecond) // so that they do not gossip at the same moment
	}
	if err := p.settle(); err != nil {
		return nil, err
	}
	p.bytes, p.payload, p.messages, p.trips = 0, 0, 0, 0
	return p, nil
}

func itemsOf(snap *crdt.Snapshot, but crdt.Dot) iter.Seq2[crdt.Item, error] {
	return func(yield func(crdt.Item, error) bool) {
		for it := range snap.Items() {
			if it.Dot != but && !yield(*it, nil) {
				return
			}
		}
	}
}

// step gives one machine an input and posts what it sends. Its disk commits at once.
func (p *pair) step(i int, in replicator.Input) {
	fx := p.m[i].Step(p.now, in)
	for _, e := range fx.Send {
		b := wire.Append(nil, e.Msg)
		p.bytes += len(b)
		p.payload += payloadOf(e.Msg)
		p.messages++
		p.queue = append(p.queue, parcel{1 - i, b})
	}
	persist := fx.Persist
	for _, b := range persist {
		p.step(i, replicator.Persisted{ID: b.ID})
	}
}

// settle delivers messages, all that are under way at a time, until there are none and no machine
// has work that waits for no other.
func (p *pair) settle() error {
	for p.goOn() {
		p.trips++
		flying := p.queue
		p.queue = nil
		for _, x := range flying {
			msg, err := wire.Decode(x.body)
			if err != nil {
				return err
			}
			p.step(x.to, &replicator.Receive{From: pairIDs[1-x.to], Msg: msg})
		}
	}
	return nil
}

// goOn lets the machines do what they have put off to a next step, until there is something to
// deliver or nothing is left to do.
func (p *pair) goOn() bool {
	for busy := true; busy && len(p.queue) == 0; {
		busy = false
		for i, m := range p.m {
			if at := m.Deadline(); !at.IsZero() && !at.After(p.now) {
				busy = true
				p.step(i, replicator.Tick{})
			}
		}
	}
	return len(p.queue) > 0
}

// gossip lets the time come at which the first one asks, and waits for all that follows.
func (p *pair) gossip() error {
	p.now = p.m[0].Deadline()
	p.step(0, replicator.Tick{})
	return p.settle()
}

// changeOne changes a key while the two cannot reach each other, and lets them meet again.
func (p *pair) changeOne() error {
	for i := range p.m {
		p.step(i, replicator.Reachable{Origin: pairIDs[1-i]})
	}
	p.step(0, replicator.Update{ID: 1, Key: "counter-1", Write: quorum.Local, Mutate: increment(0)})
	if p.messages != 0 {
		return errors.New("a message went to a node that cannot be reached")
	}
	p.step(0, replicator.Reachable{Origin: pairIDs[1], Is: true})
	return p.settle()
}

// digest returns the digest of what one of the two holds.
func (p *pair) digest(i int) crdt.Digest { return p.m[i].Snapshot(keyspace.Durable).Digest() }
