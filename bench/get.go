package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
)

// runGet measures local reads of keys that are there, of one node that holds many, while nothing is
// written: counters, which are summed up on each read, and a large set. Beside it, it measures
// reads of a plain map, from several goroutines of a sync.Map.
func runGet(ctx context.Context, o options) error {
	nodes, stop, err := startNodes(ctx, 1, nil)
	if err != nil {
		return err
	}
	defer stop()
	r, err := nodes[0].Replicator(role)
	if err != nil {
		return err
	}
	n := o.size(100_000)
	keys, err := counters(ctx, r, n)
	if err != nil {
		return err
	}
	err = ddata.Update(ctx, r, setKey, ddata.WriteLocal, func(s *crdt.ORSetTx[string]) error {
		for i := range o.size(10_000) {
			if err := s.Add(element(i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	hot, many := keys[n/2:n/2+1], keys
	limits := plainReads(keys)
	for _, readers := range []int{1, 4} {
		for _, c := range []struct {
			name  string
			keys  []ddata.Key[crdt.GCounter]
			limit func(i int)
		}{
			{"same-key", hot, limits.of(hot, readers)},
			{"random-keys", many, limits.of(many, readers)},
		} {
			get := func(i int) error {
				v, err := ddata.Get(ctx, r, c.keys[i%len(c.keys)], ddata.ReadLocal)
				if err == nil && v.Value() != 1 {
					err = fmt.Errorf("%v reads as %d", c.keys[i%len(c.keys)], v.Value())
				}
				return err
			}
			if err := reportGet("counter-"+c.name, readers, o.d, get, c.limit); err != nil {
				return err
			}
		}
		has := func(int) error { _, err := ddata.Get(ctx, r, setKey, ddata.ReadLocal); return err }
		if err := reportGet("set", readers, o.d, has, limits.of(hot, readers)); err != nil {
			return err
		}
	}
	return nil
}

// counters writes n keys, in random order, and returns them.
func counters(ctx context.Context, r *ddata.Replicator, n int) ([]ddata.Key[crdt.GCounter], error) {
	keys := make([]ddata.Key[crdt.GCounter], n)
	for i := range keys {
		keys[i] = ddata.NewKey[crdt.GCounter]("counter-" + strconv.Itoa(i))
	}
	rand.Shuffle(n, func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	for _, k := range keys {
		err := ddata.Update(ctx, r, k, ddata.WriteLocal, func(c *crdt.GCounterTx) error { return c.Increment(1) })
		if err != nil {
			return nil, err
		}
	}
	return keys, nil
}

func reportGet(name string, readers int, d time.Duration, get func(i int) error, limit func(i int)) error {
	raw, _ := spinning(readers, d/4, func(i int) error { limit(i); return nil })
	l, err := spinning(readers, d/2, get)
	if err != nil {
		return err
	}
	f := l.Figures()
	f.Add("limit_cpu_ns_per_op", raw.CPUNs())
	f.Add("ratio", l.CPUNs()/raw.CPUNs())
	measure.Report("get", name+"-"+strconv.Itoa(readers)+"-readers", f)
	return nil
}

// spinning runs op from n goroutines for d. Of several goroutines, the time of an operation is that
// which one of them waits for it.
func spinning(n int, d time.Duration, op func(i int) error) (measure.Cost, error) {
	for i := range 10_000 { // warm up: the first reads ask for the snapshot
		if err := op(i); err != nil {
			return measure.Cost{}, err
		}
	}
	var wg sync.WaitGroup
	costs, errs := make([]measure.Cost, n), make([]error, n)
	cpu, end := measure.CPUTime(), time.Now().Add(d)
	for c := range n {
		wg.Go(func() {
			for i := c; errs[c] == nil && time.Now().Before(end); {
				errs[c] = costs[c].Measure(4096, func() error {
					for range 4096 {
						if err := op(i); err != nil {
							return err
						}
						i += n
					}
					return nil
				})
			}
		})
	}
	wg.Wait()
	total := measure.Cost{CPU: measure.CPUTime() - cpu}
	for _, c := range costs {
		total.Ops += c.Ops
		total.Wall += c.Wall
	}
	return total, errors.Join(errs...)
}

// plain is the same counters in maps.
type plain struct {
	alone  map[string]uint64
	shared *sync.Map
}

func plainReads(keys []ddata.Key[crdt.GCounter]) plain {
	p := plain{alone: make(map[string]uint64, len(keys)), shared: &sync.Map{}}
	for _, k := range keys {
		p.alone[k.Name()] = 1
		p.shared.Store(k.Name(), uint64(1))
	}
	return p
}

func (p plain) of(keys []ddata.Key[crdt.GCounter], readers int) func(i int) {
	if readers == 1 {
		return func(i int) {
			if p.alone[keys[i%len(keys)].Name()] != 1 {
				panic("a key is missing")
			}
		}
	}
	return func(i int) {
		if v, ok := p.shared.Load(keys[i%len(keys)].Name()); !ok || v.(uint64) != 1 {
			panic("a key is missing")
		}
	}
}
