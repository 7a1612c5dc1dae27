package measure

import (
	"context"
	"sync"
	"time"
)

// Pace is a load that is begun by the clock.
type Pace struct {
	stop  context.CancelFunc
	ended sync.WaitGroup
	begun time.Time

	mu    sync.Mutex
	load  Load
	first error
}

// Begin has callers do perSecond operations together until End is called.
func Begin(
	ctx context.Context, callers int, perSecond float64, op func(ctx context.Context, caller, i int) error,
) *Pace {
	until, stop := context.WithCancel(ctx)
	p := &Pace{stop: stop, begun: time.Now()}
	every := time.Duration(float64(callers) / perSecond * float64(time.Second))
	for c := range callers {
		p.ended.Go(func() {
			from := every * time.Duration(c) / time.Duration(callers)
			lat, err := p.call(until, every, from, func(i int) error { return op(ctx, c, i) })
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
func (p *Pace) call(until context.Context, every, from time.Duration, op func(i int) error) (lat []time.Duration,
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

// End waits for what is under way.
func (p *Pace) End() (Load, error) {
	p.stop()
	p.ended.Wait()
	p.load.Ops, p.load.Elapsed = len(p.load.Lat), time.Since(p.begun)
	p.load.Sort()
	return p.load, p.first
}
