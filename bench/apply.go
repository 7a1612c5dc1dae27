package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"time"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/durable/rows"
	"github.com/coterie-go/coterie/replicator"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/replicator/wire"
)

// applyBatch is how many events come in one message, each in a group of its own: what gathers while
// a few dozen callers write.
const applyBatch = 100

// remoteOrigin makes the events that are applied.
const remoteOrigin crdt.Origin = 0x9e3779b97f4a7c15

// runApply measures how fast one core takes the events of others. They go into a bare store, and
// through the whole machine of a replica: from encoded messages to acks, in memory and with rows
// that go to the memory store. Each takes the same events while no other holds any, because live
// data makes garbage collection dearer for all.
func runApply(_ context.Context, o options) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	n := o.size(1_000_000)
	for _, c := range []struct {
		name  string
		maker func() func() (crdt.Group, error)
		limit func(m map[string]uint64, i int)
	}{
		{"set", addsRandom, func(m map[string]uint64, _ int) { m[element(rand.IntN(n))] = 1 }},
		{"counters", counts, func(m map[string]uint64, i int) { m["counter-"+strconv.Itoa(i%10_000)]++ }},
	} {
		limit := plainApply(n, c.limit)
		for _, to := range []struct {
			name  string
			start func() func(gs []crdt.Group, c *measure.Cost) error
		}{
			{"store", intoStore},
			{"machine", func() taker { return intoMachine(keyspace.Volatile) }},
			{"machine-durable", func() taker { return intoMachine(keyspace.Durable) }},
		} {
			cost, err := applied(n, c.maker(), to.start())
			if err != nil {
				return err
			}
			f := cost.Figures()
			f.Add("events_per_s", int(1e9/cost.Ns()))
			f.Add("events_per_cpu_s", int(1e9/cost.CPUNs()))
			f.Add("limit_cpu_ns_per_op", limit.CPUNs())
			f.Add("ratio", cost.CPUNs()/limit.CPUNs())
			measure.Report("apply", c.name+"-"+to.name, f)
		}
	}
	return nil
}

// plainApply is the same in a plain map.
func plainApply(n int, put func(m map[string]uint64, i int)) (limit measure.Cost) {
	runtime.GC()
	plain := map[string]uint64{}
	_ = limit.Measure(n, func() error {
		for i := range n {
			put(plain, i)
		}
		return nil
	})
	return limit
}

// taker takes events, and measures what that costs.
type taker = func([]crdt.Group, *measure.Cost) error

// applied measures what taking n events costs; making them is not measured.
func applied(n int, next func() (crdt.Group, error), take taker) (c measure.Cost, err error) {
	runtime.GC()
	for done := 0; done < n; done += 10 * applyBatch {
		gs := make([]crdt.Group, 10*applyBatch)
		for i := range gs {
			if gs[i], err = next(); err != nil {
				return c, err
			}
		}
		if err := take(gs, &c); err != nil {
			return c, err
		}
	}
	return c, nil
}

// addsRandom makes adds of elements that are not there. The set from which they come is not kept.
func addsRandom() func() (crdt.Group, error) {
	seq := uint64(0)
	return func() (crdt.Group, error) {
		path, err := crdt.ElementPath(crdt.KindORSet, strconv.FormatUint(rand.Uint64(), 36))
		seq++
		return crdt.Group{{Dot: crdt.Dot{Origin: remoteOrigin, Seq: seq}, Key: "set", Path: path, Puts: true}}, err
	}
}

// counts makes increments of 10,000 counters in turn.
func counts() func() (crdt.Group, error) {
	from, i := crdt.NewReplica(remoteOrigin, crdt.StoreOptions{LogMax: 1}), 0
	return func() (crdt.Group, error) {
		key := "counter-" + strconv.Itoa(i%10_000)
		i++
		return from.Update(key, 0, crdt.Mutate[crdt.GCounter](func(c *crdt.GCounterTx) error { return c.Increment(1) }),
			nil)
	}
}

// pushFrames encodes groups as the messages that carry them.
func pushFrames(gs []crdt.Group, space keyspace.Space) [][]byte {
	var frames [][]byte
	for len(gs) > 0 {
		k := min(applyBatch, len(gs))
		frames = append(frames, wire.Append(nil, &wire.Push{Epoch: 1, Space: space, Groups: gs[:k]}))
		gs = gs[k:]
	}
	return frames
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
	m, err := replicator.New(settings.Config{Self: 1, DurableKeys: durableKeys},
		rand.New(rand.NewPCG(1, 2)), replicator.Loaded{})
	if err != nil {
		panic(err)
	}
	m.Step(time.Now(), replicator.Install{
		View: replica.View{Epoch: 1, Founded: true, Voters: []replica.Member{{ID: 1}, {ID: remoteOrigin}}},
	})
	return m
}

// intoStore applies to a bare store.
func intoStore() func([]crdt.Group, *measure.Cost) error {
	store, ch := crdt.NewStore(crdt.StoreOptions{}), crdt.Changes{}
	return func(gs []crdt.Group, c *measure.Cost) error {
		return c.Measure(len(gs), func() error {
			for _, g := range gs {
				ch.Reset()
				if out, err := store.Apply(g, &ch); err != nil || out != crdt.Applied {
					return fmt.Errorf("apply: %v, %w", out, err)
				}
			}
			return nil
		})
	}
}

// intoMachine sends messages to a machine whose keys are of one space.
func intoMachine(space keyspace.Space) func([]crdt.Group, *measure.Cost) error {
	a := &appliedTo{machine: machineWithPeer()}
	if space == keyspace.Durable {
		a = &appliedTo{machine: machineWithPeer("*"), table: memoryTable()}
	}
	return func(gs []crdt.Group, c *measure.Cost) error { return a.frames(pushFrames(gs, space), len(gs), c) }
}

// appliedTo is a machine that takes the events.
type appliedTo struct {
	machine *replicator.Machine
	table   durable.Table // of a machine with durable keys
	acks    []byte        // scratch
}

// frames decodes messages, steps the machine with them and encodes what it sends back.
func (a *appliedTo) frames(frames [][]byte, events int, c *measure.Cost) error {
	err := c.Measure(events, func() error {
		for _, b := range frames {
			msg, err := wire.Decode(b)
			if err != nil {
				return err
			}
			a.carry(a.machine.Step(time.Now(), &replicator.Receive{From: remoteOrigin, Msg: msg}))
		}
		return nil
	})
	if st := a.machine.Stats(); err == nil && st.Applied != uint64(c.Ops) {
		err = fmt.Errorf("%d of %d groups applied: %+v", st.Applied, c.Ops, st)
	}
	return err
}

// carry commits and encodes what a step asks for. The commit is answered within it, which is a step
// of its own.
func (a *appliedTo) carry(fx *effect.Effects) {
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
		a.acks = wire.Append(a.acks[:0], e.Msg)
	}
	for _, id := range committed {
		a.carry(a.machine.Step(time.Now(), replicator.Persisted{ID: id}))
	}
}
