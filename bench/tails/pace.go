package tails

import (
	"context"
	"sync"
	"time"

	"github.com/coterie-go/coterie/bench/measure"
)

// callers is how many begin operations of one kind.
const callers = 64

// pace is a load that is begun by the clock.
type pace struct {
	stop  context.CancelFunc
	ended sync.WaitGroup
	begun time.Time

	mu    sync.Mutex
	load  measure.Load
	first error
}

// begin has callers do perSecond operations together until end is called.
func begin(ctx context.Context, perSecond float64, op func(ctx context.Context, caller, i int) error) *pace {
	until, stop := context.WithCancel(ctx)
	p := &pace{stop: stop, begun: time.Now()}
	every := time.Duration(float64(callers) / perSecond * float64(time.Second))
	for c := range callers {
		p.ended.Go(func() {
			lat, err := p.call(until, every, every*time.Duration(c)/callers, func(i int) error { return op(ctx, c, i) })
			p.mu.Lock()
			defer p.mu.Unlock()
			p.load.Lat = append(p.load.Lat, lat...)
			if err != nil && p.first == nil {
				p.first = err
				stop()
			}
		})
	}
	return p
}

// call does op when it is due, at once if that is over, and returns how long after it was due each has ended.
func (p *pace) call(until context.Context, every, from time.Duration, op func(i int) error) (lat []time.Duration,
	err error) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for i := 0; ; i++ {
		due := p.begun.Add(from + time.Duration(i)*every)
		timer.Reset(time.Until(due))
		select {
		case <-until.Done():
			return lat, nil
		case <-timer.C:
		}
		if err := op(i); err != nil {
			return lat, err
		}
		lat = append(lat, time.Since(due))
	}
}

// end waits for what is under way.
func (p *pace) end() (measure.Load, error) {
	p.stop()
	p.ended.Wait()
	p.load.Ops, p.load.Elapsed = len(p.load.Lat), time.Since(p.begun)
	p.load.Sort()
	return p.load, p.first
}
