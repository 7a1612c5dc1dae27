package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
)

// runMajority measures quorum writes and reads over three nodes in one process.
func runMajority(ctx context.Context, o options) error {
	d := o.d
	nodes, stop, err := startNodes(ctx, 3, nil)
	if err != nil {
		return err
	}
	defer stop()
	r, err := nodes[0].Replicator(role)
	if err != nil {
		return err
	}
	for _, n := range []int{1, 64} {
		limit, err := pingPong(n, d/2)
		if err != nil {
			return err
		}
		ops := map[string]func(c, i int) error{
			"add": func(c, i int) error {
				return ddata.Update(ctx, r, setKey, ddata.WriteMajority, func(s *crdt.ORSetTx[string]) error {
					return s.Add(strconv.Itoa(n) + "-" + strconv.Itoa(c) + "-" + strconv.Itoa(i))
				})
			},
			"increment": func(c, i int) error {
				return ddata.Update(ctx, r, counterKey, ddata.WriteMajority,
					func(g *crdt.GCounterTx) error { return g.Increment(1) })
			},
			"read": func(c, i int) error {
				_, err := ddata.Get(ctx, r, counterKey, ddata.ReadMajority)
				return err
			},
		}
		for _, name := range []string{"add", "increment", "read"} {
			l, err := measure.Callers(n, d, ops[name])
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			f := l.Figures()
			f.Add("cpu_us_per_op_of_3_nodes", l.CPUMicros())
			f.Add("limit_ops_per_s", int(limit.PerSecond()))
			f.Add("limit_cpu_us_per_op", limit.CPUMicros())
			f.Add("ratio", l.PerSecond()/limit.PerSecond())
			measure.Report("majority", name+"-"+strconv.Itoa(n)+"-callers", f)
		}
	}
	return nil
}
