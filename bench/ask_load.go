package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/coterie-go/coterie/sharding"
)

// patientPace is how often each entity is asked, whether or not it has answered before.
const patientPace = 10 * time.Millisecond

// askLoad ask entities again and again, and wait for each answer as long as an Ask does by default.
type askLoad struct {
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu  sync.Mutex
	log [][]askLoadAsk // by entity, in the order in which they ended
}

// askLoadAsk is one question.
type askLoadAsk struct {
	begun, ended time.Time
	err          error
}

func newPatients(region *sharding.Region[Message], ids []string) *askLoad {
	ctx, stop := context.WithCancel(context.Background())
	p := &askLoad{stop: stop, log: make([][]askLoadAsk, len(ids))}
	for i, id := range ids {
		p.wg.Go(func() {
			for pace := time.NewTicker(patientPace); ctx.Err() == nil; <-pace.C {
				p.wg.Go(func() { p.ask(region, i, id) })
			}
		})
	}
	return p
}

func (p *askLoad) ask(region *sharding.Region[Message], i int, id string) {
	a := askLoadAsk{begun: time.Now()}
	_, a.err = sharding.Ask(context.Background(), region.Ref(id), Query{})
	a.ended = time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log[i] = append(p.log[i], a)
}

// end begins no more questions and waits for those under way.
func (p *askLoad) end() {
	p.stop()
	p.wg.Wait()
}

// firstLocked is the first answer of an entity to a question that was asked after that time.
func (p *askLoad) firstLocked(i int, after time.Time) (a askLoadAsk, ok bool) {
	at := slices.IndexFunc(p.log[i], func(a askLoadAsk) bool { return a.err == nil && a.begun.After(after) })
	if at < 0 {
		return a, false
	}
	return p.log[i][at], true
}

// answered waits until each entity has answered a question that was asked after that time.
func (p *askLoad) answered(ctx context.Context, after time.Time) error {
	look := time.NewTicker(patientPace)
	defer look.Stop()
	for {
		silent := 0
		p.mu.Lock()
		for i := range p.log {
			if _, ok := p.firstLocked(i, after); !ok {
				silent++
			}
		}
		p.mu.Unlock()
		if silent == 0 {
			return nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d entities do not answer: %w", silent, len(p.log), ctx.Err())
		}
	}
}

// back is how long after that time each entity first answered a question that was asked later,
// sorted.
func (p *askLoad) back(after time.Time) (took []time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.log {
		if a, ok := p.firstLocked(i, after); ok {
			took = append(took, a.ended.Sub(after))
		}
	}
	slices.Sort(took)
	return took
}

// begun counts the questions that were asked in a time, and those of them that failed, of which one
// error is first.
func (p *askLoad) begun(from, to time.Time) (asks, failed int, first error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, log := range p.log {
		for _, a := range log {
			if a.begun.Before(from) || !a.begun.Before(to) {
				continue
			}
			asks++
			if a.err != nil {
				failed++
				first = a.err
			}
		}
	}
	return asks, failed, first
}

// longest is how long the longest of the questions took that were asked since a time and are over.
func (p *askLoad) longest(since time.Time) (most time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, log := range p.log {
		for _, a := range log {
			if !a.begun.Before(since) {
				most = max(most, a.ended.Sub(a.begun))
			}
		}
	}
	return most
}
