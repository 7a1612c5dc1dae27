package events

import (
	"context"
	"fmt"
	"iter"
	"sync"
)

// Feed hands the events of a node, or of an entity type, to loops that may take their time. Its Tell
// is the Listener to give to the node; Watch is for the loops, each of which sees every event.
//
//	feed := events.NewFeed(1000)
//	node, err := ddata.Start(ctx, ddata.Config{OnEvent: feed.Tell, …})
//	for e, err := range feed.Watch(ctx) { … }
//
// Its methods may be called from any goroutine.
type Feed struct {
	max int

	mu    sync.Mutex
	loops map[*loop]struct{}
}

// loop is one Watch.
type loop struct {
	wake    chan struct{}
	waiting []Event // at most max; under the Feed's mu
	missed  int     // that found no room since the last look; under the Feed's mu
}

// MissedError is yielded by Feed.Watch when events found no room: the loop is slower than they come.
type MissedError struct{ Events int }

// Error implements error.
func (e MissedError) Error() string { return fmt.Sprintf("events: %d were missed", e.Events) }

// NewFeed makes a Feed that keeps at most so many events for each loop, at least one.
func NewFeed(most int) *Feed { return &Feed{max: max(1, most), loops: map[*loop]struct{}{}} }

var _ Listener = (&Feed{}).Tell

// Tell is the Listener. It never waits.
func (f *Feed) Tell(e Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for l := range f.loops { // order: each has its own
		if len(l.waiting) == f.max {
			l.missed++
			continue
		}
		l.waiting = append(l.waiting, e)
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
}

// Watch yields the events that come from the call of Watch on, until ctx ends, which is the last
// error, or the loop breaks. What came while the loop had no room is missing: a MissedError says how
// many, after those before them. The loop may go on; it breaks at NodeEnded if it shall end with the
// node. What Watch returns is for one loop.
func (f *Feed) Watch(ctx context.Context) iter.Seq2[Event, error] {
	l := &loop{wake: make(chan struct{}, 1)}
	f.mu.Lock()
	f.loops[l] = struct{}{}
	f.mu.Unlock()
	forget := context.AfterFunc(ctx, func() { f.forget(l) })
	return func(yield func(Event, error) bool) {
		defer func() {
			forget()
			f.forget(l)
		}()
		for {
			select {
			case <-l.wake:
			case <-ctx.Done():
				yield(nil, context.Cause(ctx))
				return
			}
			all, missed := f.take(l)
			for _, e := range all {
				if !yield(e, nil) {
					return
				}
			}
			if missed > 0 && !yield(nil, MissedError{missed}) {
				return
			}
		}
	}
}

func (f *Feed) forget(l *loop) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.loops, l)
	l.waiting = nil
}

// take empties what waits for a loop.
func (f *Feed) take(l *loop) (all []Event, missed int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all, missed = l.waiting, l.missed
	l.waiting, l.missed = nil, 0
	return all, missed
}
