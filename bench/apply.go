package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/durable/rows"
	"github.com/coterie-go/coterie/replicator"
)

// applyBatch is how many events come in one message, each in a group of its own: what gathers while a few dozen callers write.
const applyBatch = 100

// remoteOrigin makes the events that are applied.
const remoteOrigin crdt.Origin = 0x9e3779b97f4a7c15

// runApply measures how fast one core takes the events of others: into a bare store, and through the whole machine of a replica, from encoded
// messages to acks, in memory and with rows that go to the memory store.
func runApply(_ context.Context, o options) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	n := o.size(1_000_000)
	for _, c := range []struct {
		name   string
		update func(r *crdt.Replica, i int) (crdt.Group, error)
		limit  func(m map[string]uint64, i int)
	}{
		{"set", addRandom, func(m map[string]uint64, _ int) { m[element(rand.IntN(n))] = 1 }},
		{"counters", count, func(m map[string]uint64, i int) { m["counter-"+strconv.Itoa(i%10_000)]++ }},
	} {
		var limit cost
		plain := map[string]uint64{}
		_ = limit.measure(n, func() error {
			for i := range n {
				c.limit(plain, i)
			}
			return nil
		})
		from := crdt.NewReplica(remoteOrigin, crdt.StoreOptions{})
		store, machine := &applied{store: crdt.NewStore(crdt.StoreOptions{})}, &applied{machine: machineWithPeer()}
		stored := &applied{machine: machineWithPeer("*"), table: memoryTable()}
		for done := 0; done < n; done += 10 * applyBatch {
			var gs []crdt.Group
			for i := range 10 * applyBatch {
				g, err := c.update(from, done+i)
				if err != nil {
					return err
				}
				gs = append(gs, g)
			}
			from.Trim(from.Store().Clock().Clone())
			if err := errors.Join(store.groups(gs), machine.frames(pushFrames(gs, replicator.Volatile), len(gs)), stored.frames(pushFrames(gs, replicator.Durable), len(gs))); err != nil {
				return err
			}
		}
		for _, a := range []struct {
			name string
			cost *cost
		}{{"store", &store.cost}, {"machine", &machine.cost}, {"machine-durable", &stored.cost}} {
			f := a.cost.figures()
			f.add("events_per_s", int(1e9/a.cost.ns()))
			f.add("events_per_cpu_s", int(1e9/a.cost.cpuNs()))
			f.add("limit_cpu_ns_per_op", limit.cpuNs())
			f.add("ratio", a.cost.cpuNs()/limit.cpuNs())
			report("apply", c.name+"-"+a.name, f)
		}
	}
	return nil
}

func addRandom(r *crdt.Replica, _ int) (crdt.Group, error) {
	return r.Update("set", 0, crdt.Mutate[crdt.ORSet[string]](func(s *crdt.ORSetTx[string]) error {
		return s.Add(strconv.FormatUint(rand.Uint64(), 36))
	}), nil)
}

func count(r *crdt.Replica, i int) (crdt.Group, error) {
	return r.Update("counter-"+strconv.Itoa(i%10_000), 0, crdt.Mutate[crdt.GCounter](func(c *crdt.GCounterTx) error { return c.Increment(1) }), nil)
}

// pushFrames encodes groups as the messages that carry them.
func pushFrames(gs []crdt.Group, space replicator.Space) [][]byte {
	var frames [][]byte
	for len(gs) > 0 {
		k := min(applyBatch, len(gs))
		frames = append(frames, replicator.AppendMessage(nil, &replicator.Push{Epoch: 1, Space: space, Groups: gs[:k]}))
		gs = gs[k:]
	}
	return frames
}

// applied is who takes the events: a store or a machine.
type applied struct {
	cost    cost
	store   *crdt.Store
	ch      crdt.Changes
	machine *replicator.Machine
	table   durable.Table // of a machine with durable keys
	acks    []byte        // scratch
}

// memoryTable is a table of the memory store, which commits at once.
func memoryTable() durable.Table {
	t, err := durable.NewMemory().AutoFlush(true).Table("bench")
	if err != nil {
		panic(err)
	}
	return t
}

// machineWithPeer is a replica that has one peer, the maker of the events.
func machineWithPeer(durableKeys ...string) *replicator.Machine {
	m, err := replicator.New(replicator.Config{Self: 1, DurableKeys: durableKeys}, rand.New(rand.NewPCG(1, 2)), replicator.Loaded{})
	if err != nil {
		panic(err)
	}
	m.Step(time.Now(), replicator.Install{View: replicator.View{Epoch: 1, Founded: true, Voters: []replicator.Peer{{ID: 1}, {ID: remoteOrigin}}}})
	return m
}

func (a *applied) groups(gs []crdt.Group) error {
	return a.cost.measure(len(gs), func() error {
		for _, g := range gs {
			a.ch.Reset()
			if out, err := a.store.Apply(g, &a.ch); err != nil || out != crdt.Applied {
				return fmt.Errorf("apply: %v, %w", out, err)
			}
		}
		return nil
	})
}

// frames decodes messages, steps the machine with them and encodes what it sends back.
func (a *applied) frames(frames [][]byte, events int) error {
	err := a.cost.measure(events, func() error {
		for _, b := range frames {
			msg, err := replicator.DecodeMessage(b)
			if err != nil {
				return err
			}
			a.carry(a.machine.Step(time.Now(), replicator.Receive{From: remoteOrigin, Msg: msg}))
		}
		return nil
	})
	if st := a.machine.Stats(); err == nil && st.Applied != uint64(a.cost.ops) {
		err = fmt.Errorf("%d of %d groups applied: %+v", st.Applied, a.cost.ops, st)
	}
	return err
}

// carry commits and encodes what a step asks for. The commit is answered within it, which is a step of its own.
func (a *applied) carry(fx *replicator.Effects) {
	var committed []uint64
	for _, b := range fx.Persist {
		a.table.Commit(rows.Of(b), func(err error) {
			if err != nil {
				panic(err)
			}
			committed = append(committed, b.ID)
		})
	}
	for _, e := range fx.Send {
		a.acks = replicator.AppendMessage(a.acks[:0], e.Msg)
	}
	for _, id := range committed {
		a.carry(a.machine.Step(time.Now(), replicator.Persisted{ID: id}))
	}
}
