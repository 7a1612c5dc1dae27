package projection

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/coterie-go/coterie/sharding/daemon"
	"github.com/coterie-go/coterie/sharding/projection/pace"
)

// workers are the lanes of a node.
type workers[E any] struct {
	cfg     Config[E]
	figures figures

	mu    sync.Mutex
	lanes []*lane[E] // in no order
}

// work is the Run of one worker: it has its share of the parts until its context ends.
func (p *workers[E]) work(ctx context.Context, w daemon.Worker) error {
	var running sync.WaitGroup
	defer running.Wait()
	from, to := pace.Parts(w.Number, w.Total, p.cfg.Parts)
	var own []*lane[E]
	for part := from; part < to; part++ {
		l := newLane(&p.cfg, &p.figures, part)
		own = append(own, l)
		p.enter(l)
		running.Go(func() {
			defer p.leave(l)
			l.run(ctx)
		})
	}
	for ctx.Err() == nil {
		sleep(ctx, p.cfg.LookInterval)
		p.lookAfter(ctx, own)
	}
	return nil
}

// lookAfter interrupts the lanes that what is stored is ahead of. A look that fails is repeated at the
// next interval: the saves of a lane find out, too.
func (p *workers[E]) lookAfter(ctx context.Context, own []*lane[E]) {
	if len(own) == 0 || ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, p.cfg.StoreTimeout)
	defer cancel()
	state, err := p.cfg.Target.Look(ctx, p.cfg.Name)
	if err != nil {
		return
	}
	for _, l := range own {
		if n := l.part.Number; n < len(state.Parts) {
			l.shown.interrupt(state.Paused, state.Parts[n].Claim)
		}
	}
}

func (p *workers[E]) enter(l *lane[E]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lanes = append(p.lanes, l)
}

func (p *workers[E]) leave(l *lane[E]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lanes = slices.DeleteFunc(p.lanes, func(o *lane[E]) bool { return o == l })
}

// status returns that of each part that is here, by number.
func (p *workers[E]) status(now time.Time) []PartStatus {
	p.mu.Lock()
	lanes := slices.Clone(p.lanes)
	p.mu.Unlock()
	out := make([]PartStatus, 0, len(lanes))
	for _, l := range lanes {
		out = append(out, l.shown.look(now))
	}
	slices.SortFunc(out, func(a, b PartStatus) int { return a.Part - b.Part })
	return out
}
