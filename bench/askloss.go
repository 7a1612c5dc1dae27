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

const (
	lossCallers = 256
	lossAsks    = 10_000_000
)

// runAskLoss has many callers ask entities of another process, each question with a number that no
// other has, and looks at every reply. Correlation by slots that are used again and again is where
// replies are lost or go to another caller.
func runAskLoss(ctx context.Context, o options) error {
	region, far, stop, err := farEntities(ctx)
	if err != nil {
		return err
	}
	defer stop()
	ids := make([]string, lossCallers)
	for i := range ids {
		ids[i] = "entity-" + strconv.Itoa(i)
		if _, err := sharding.Ask(ctx, region.Ref(ids[i]), Query{}); err != nil {
			return err
		}
	}
	before, err := asked(ctx, region, ids)
	if err != nil {
		return err
	}
	asks := o.size(lossAsks)
	var t replies
	cpu, began := measure.CPUTime()+far.CPUTime(), time.Now()
	var wg sync.WaitGroup
	for range lossCallers {
		wg.Go(func() {
			for {
				n := t.begun.Add(1)
				if n > int64(asks) || ctx.Err() != nil {
					return
				}
				t.ask(ctx, region, ids[n%lossCallers], uint64(n))
			}
		})
	}
	wg.Wait()
	took, cpu := time.Since(began), measure.CPUTime()+far.CPUTime()-cpu
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("after %d of %d asks: %w", t.own.Load(), asks, err)
	}
	after, err := asked(ctx, region, ids)
	if err != nil {
		return err
	}
	var f measure.Figures
	f.Add("asks", asks)
	f.Add("lost", int64(asks)-t.own.Load()-t.foreign.Load())
	f.Add("foreign", t.foreign.Load())
	f.Add("late", dropped(region, sharding.DropLateReply))
	f.Add("handled_twice_or_never", int64(after-before)-int64(asks))
	f.Add("seconds", took.Seconds())
	f.Add("ops_per_s", int(float64(asks)/took.Seconds()))
	f.Add("cpu_us_per_op", float64(cpu.Microseconds())/float64(asks)) // of both processes
	if err := t.first.Load(); err != nil {
		f.Add("first_error", strconv.Quote((*err).Error()))
	}
	measure.Report("askloss", strconv.Itoa(lossCallers)+"-callers", f)
	return nil
}

// replies is what became of the questions.
type replies struct {
	begun, own, foreign atomic.Int64
	first               atomic.Pointer[error]
}

func (t *replies) ask(ctx context.Context, region *sharding.Region[Message], id string, n uint64) {
	switch got, err := sharding.Ask(ctx, region.Ref(id), Query{N: n}); {
	case err != nil:
		t.first.CompareAndSwap(nil, &err)
	case got != n:
		t.foreign.Add(1)
	default:
		t.own.Add(1)
	}
}

// asked is how many queries the entities got in all.
func asked(ctx context.Context, region *sharding.Region[Message], ids []string) (sum uint64, err error) {
	for _, id := range ids {
		n, e := sharding.Ask(ctx, region.Ref(id), Asked{})
		err = errors.Join(err, e)
		sum += n
	}
	return sum, err
}

// dropped is how many messages a region has dropped for a reason.
func dropped(region *sharding.Region[Message], why sharding.DropReason) (n uint64) {
	for _, d := range region.Stats().Drops {
		if d.Reason == why {
			n += d.Count
		}
	}
	return n
}
