package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/sharding"
)

// runTell measures entity messages that stay on their node. Every figure counts messages that were
// handled, not sent.
func runTell(ctx context.Context, o options) error {
	d := o.d
	nodes, stop, err := startNodes(ctx, 1, nil)
	if err != nil {
		return err
	}
	defer stop()
	region, err := startEntities(nodes[0])
	if err != nil {
		return err
	}
	ids := make([]string, 64)
	for i := range ids {
		ids[i] = "entity-" + strconv.Itoa(i)
		if _, err := sharding.Ask(ctx, region.Ref(ids[i]), Query{}); err != nil {
			return err
		}
	}
	// a question is behind every note to the same entity
	settle := func() error { _, err := counted(ctx, region, ids); return err }
	refs := make([]*sharding.EntityRef[Message], len(ids))
	for i, id := range ids {
		refs[i] = region.Ref(id)
	}
	boxed := Message(note()) // what a sender keeps that tells the same again and again; a pointer costs no more
	made := func() Message { return note() }
	kept := func() Message { return boxed }
	id := func(c, i int) error { return region.Tell(ctx, ids[(c+i)%len(ids)], note()) }
	ref := func(c, i int) error { return refs[(c+i)%len(refs)].Tell(ctx, note()) }
	refKept := func(c, i int) error { return refs[(c+i)%len(refs)].Tell(ctx, boxed) }
	for _, senders := range []int{1, 16} {
		for _, way := range []struct {
			name  string
			plain func() Message // what the limit is told
			tell  func(c, i int) error
		}{{"id", made, id}, {"ref", made, ref}, {"ref-kept-message", kept, refKept}} {
			before := measure.Handover()
			plain := measure.NewMailbox[Message]()
			limit, _ := handled(senders, d/2, func(int, int) error {
				plain.Tell(way.plain())
				return nil
			}, plain.Settle)
			l, err := handled(senders, d, way.tell, settle)
			if err != nil {
				return err
			}
			var f measure.Figures
			f.Add("ops_per_s", int(l.PerSecond()))
			f.Add("ns_per_op", measure.NsPerOp(l))
			f.Add("limit_ops_per_s", int(limit.PerSecond()))
			f.Add("ratio", l.PerSecond()/limit.PerSecond())
			measure.AddCPU(&f, l, limit)
			f.Add("handover_ns", max(before, measure.Handover()).Nanoseconds())
			measure.Report("tell", fmt.Sprintf("%s-%d-senders", way.name, senders), f)
		}
	}
	return askLocal(ctx, region, ids, d)
}

// askLocal is one caller that asks an entity, beside one that asks a goroutine over a pair of
// channels.
func askLocal(ctx context.Context, region *sharding.Region[Message], ids []string, d time.Duration) error {
	questions, answers := make(chan Message), make(chan uint64)
	defer close(questions)
	go func() {
		for q := range questions {
			answers <- q.(Query).N
		}
	}()
	limit, err := measure.Callers(1, d/2, func(_, i int) error {
		questions <- Query{N: uint64(i)}
		<-answers
		return nil
	})
	if err != nil {
		return err
	}
	l, err := measure.Callers(1, d, func(_, i int) error {
		_, err := sharding.Ask(ctx, region.Ref(ids[i%len(ids)]), Query{N: uint64(i)})
		return err
	})
	if err != nil {
		return err
	}
	f := l.Figures()
	f.Add("limit_ops_per_s", int(limit.PerSecond()))
	f.Add("ratio", l.PerSecond()/limit.PerSecond())
	measure.Report("tell", "ask-1-caller", f)
	return nil
}

// handled runs tell from n goroutines for d; settle returns when all that was sent has been
// handled.
func handled(n int, d time.Duration, tell func(c, i int) error, settle func() error) (measure.Load, error) {
	var (
		wg   sync.WaitGroup
		sent atomic.Int64
	)
	errs := make([]error, n+1)
	cpu, start := measure.CPUTime(), time.Now()
	end := start.Add(d)
	for c := range n {
		wg.Go(func() {
			i := 0
			for ; i%256 != 0 || time.Now().Before(end); i++ {
				if errs[c] = tell(c, i); errs[c] != nil {
					break
				}
			}
			sent.Add(int64(i))
		})
	}
	wg.Wait()
	errs[n] = settle()
	l := measure.Load{Ops: int(sent.Load()), Elapsed: time.Since(start), CPU: measure.CPUTime() - cpu}
	return l, errors.Join(errs...)
}
