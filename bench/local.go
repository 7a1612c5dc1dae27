package main

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
)

var (
	setKey     = ddata.NewKey[crdt.ORSet[string]]("set")
	counterKey = ddata.NewKey[crdt.GCounter]("counter")
)

// runLocal measures what one node does by itself.
func runLocal(ctx context.Context, o options) error {
	d := o.d
	nodes, stop, err := startNodes(ctx, 1, nil)
	if err != nil {
		return err
	}
	defer stop()
	r, err := nodes[0].Replicator(role)
	if err != nil {
		return err
	}
	if err := localGet(ctx, r, d); err != nil {
		return err
	}
	for _, n := range []int{1, 16} {
		var mu sync.Mutex
		plain := map[string]struct{}{}
		limit, _ := measure.Callers(n, d/2, func(c, i int) error {
			mu.Lock()
			defer mu.Unlock()
			plain[strconv.Itoa(c)+"-"+strconv.Itoa(i)] = struct{}{}
			return nil
		})
		l, err := measure.Callers(n, d, func(c, i int) error {
			return ddata.Update(ctx, r, setKey, ddata.WriteLocal, func(s *crdt.ORSetTx[string]) error {
				return s.Add(strconv.Itoa(c) + "-" + strconv.Itoa(i))
			})
		})
		if err != nil {
			return err
		}
		f := l.Figures()
		f.Add("limit_ops_per_s", int(limit.PerSecond()))
		f.Add("ratio", l.PerSecond()/limit.PerSecond())
		measure.Report("local", "add-"+strconv.Itoa(n)+"-callers", f)
	}
	return nil
}

func localGet(ctx context.Context, r *ddata.Replicator, d time.Duration) error {
	for i := range 100 {
		err := ddata.Update(ctx, r, ddata.NewKey[crdt.GCounter]("counter-"+strconv.Itoa(i)), ddata.WriteLocal,
			func(c *crdt.GCounterTx) error {
				return c.Increment(1)
			})
		if err != nil {
			return err
		}
	}
	key := ddata.NewKey[crdt.GCounter]("counter-50")
	var failed error
	l := measure.Spin(d, func(int) {
		if _, err := ddata.Get(ctx, r, key, ddata.ReadLocal); err != nil {
			failed = err
		}
	})
	if failed != nil {
		return failed
	}
	var mu sync.RWMutex
	plain := map[string]uint64{"counter-50": 1}
	sum := uint64(0)
	limit := measure.Spin(d/2, func(int) {
		mu.RLock()
		sum += plain["counter-50"]
		mu.RUnlock()
	})
	_ = sum
	var f measure.Figures
	f.Add("ops_per_s", int(l.PerSecond()))
	f.Add("ns_per_op", measure.NsPerOp(l))
	f.Add("limit_ns_per_op", measure.NsPerOp(limit))
	f.Add("ratio", l.PerSecond()/limit.PerSecond())
	measure.Report("local", "get", f)
	return nil
}
