package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// State is one revision, as it is written.
type State struct {
	_         struct{} `cbor:",toarray"`
	Revision  uint64
	Count     int
	Previous  int    // how many workers the revision before had; they are stopped before Completed
	Completed bool   // false: a rescale is in progress
	Wish      uint64 // which Rescale it answers; 0: none
	Started   int64  // when its rescale began, in Unix nanoseconds
}

// String tells how many workers there are, and how far a rescale is.
func (s State) String() string {
	if s.Completed {
		return fmt.Sprintf("%d workers (revision %d)", s.Count, s.Revision)
	}
	return fmt.Sprintf("%d workers instead of %d (revision %d, in progress)", s.Count, s.Previous, s.Revision)
}

// wish is what was asked for last.
type wish struct {
	_     struct{} `cbor:",toarray"`
	ID    uint64
	Count int
}

// store is where they are; reads and writes go to a majority.
type store interface {
	state(ctx context.Context) (s State, ok bool, err error)
	put(ctx context.Context, s State) error
	wish(ctx context.Context) (w wish, ok bool, err error)
	changed() <-chan struct{} // there may be another wish
}

// workers is what is done to them.
type workers interface {
	run(ctx context.Context, id string) error  // tells it to run; does not wait for it
	halt(ctx context.Context, id string) error // returns when it has stopped
	// returns when the places of workers that are needed no more are nowhere
	empty(ctx context.Context, numbers []int) error
}

// coordinator keeps the workers of one name alive. It runs on one node at a time.
type coordinator struct {
	cfg     Config
	store   store
	workers workers
	figures *figures
}

// errTorn: what is written is not of this coordinator: it begins anew.
var errTorn = errors.New("daemon: the state has changed under the coordinator")

// loop runs until ctx ends, or something fails; then it is run again.
func (c *coordinator) loop(ctx context.Context) error {
	s, err := c.load(ctx)
	if err != nil {
		return err
	}
	defer c.figures.follows(State{})
	for {
		c.figures.follows(s)
		if !s.Completed {
			if s, err = c.complete(ctx, s); err != nil {
				return err
			}
			c.figures.rescales.Add(1)
			c.figures.follows(s)
		}
		w, err := c.keepAlive(ctx, s)
		if err != nil {
			return err
		}
		if s, err = c.rescale(ctx, s, w); err != nil {
			return err
		}
	}
}

// load reads the revision, and writes the first one.
func (c *coordinator) load(ctx context.Context) (State, error) {
	limited, cancel := context.WithTimeout(ctx, c.cfg.RequestTimeout)
	defer cancel()
	s, ok, err := c.store.state(limited)
	if err != nil || ok {
		return s, err
	}
	s = State{Count: c.cfg.Count, Completed: true, Started: time.Now().UnixNano()}
	return s, c.put(ctx, s)
}

func (c *coordinator) put(ctx context.Context, s State) error {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.RequestTimeout)
	defer cancel()
	return c.store.put(ctx, s)
}

// keepAlive tells the workers to run, one after the other and again and again, until another number
// of them is wished for.
func (c *coordinator) keepAlive(ctx context.Context, s State) (wish, error) {
	all := ids(s, c.cfg.WorkersMax)
	for {
		for _, id := range all {
			if w, ok, err := c.wished(ctx, s); ok || err != nil {
				return w, err
			}
			c.figures.keepAlives.Add(1)
			if err := c.workers.run(ctx, id); err != nil { // again in the next round
				c.figures.unreached.Add(1)
			}
			if err := c.pause(ctx, c.cfg.KeepAliveThrottle, nil); err != nil {
				return wish{}, err
			}
		}
		if w, ok, err := c.wished(ctx, s); ok || err != nil {
			return w, err
		}
		if err := c.torn(ctx, s); err != nil {
			return wish{}, err
		}
		if err := c.pause(ctx, c.cfg.KeepAliveInterval, c.store.changed()); err != nil {
			return wish{}, err
		}
	}
}

// torn reports whether a late write of an earlier coordinator has come in between.
func (c *coordinator) torn(ctx context.Context, s State) error {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.RequestTimeout)
	defer cancel()
	written, _, err := c.store.state(ctx)
	if err == nil && written != s {
		return errTorn
	}
	return err
}

// wished reports whether something else than s is wished for.
func (c *coordinator) wished(ctx context.Context, s State) (wish, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.RequestTimeout)
	defer cancel()
	w, ok, err := c.store.wish(ctx)
	return w, ok && w.ID != s.Wish, err
}

// pause waits for d. It returns earlier when early says that there is something to look at.
func (c *coordinator) pause(ctx context.Context, d time.Duration, early <-chan struct{}) error {
	if d < 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-early:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// rescale begins the next revision, if the number differs.
func (c *coordinator) rescale(ctx context.Context, s State, w wish) (State, error) {
	next := s
	next.Wish = w.ID
	if w.Count != s.Count && w.Count >= 1 && w.Count <= c.cfg.WorkersMax {
		next.Revision++
		next.Previous, next.Count, next.Completed, next.Started = s.Count, w.Count, false, time.Now().UnixNano()
	}
	return next, c.put(ctx, next)
}

// complete stops the workers of the previous revision, and the shards that the next revision does
// not have.
func (c *coordinator) complete(ctx context.Context, s State) (State, error) {
	before := State{Revision: s.Revision - 1, Count: s.Previous}
	for _, id := range ids(before, c.cfg.WorkersMax) {
		err := c.persist(ctx, func(ctx context.Context) error { return c.workers.halt(ctx, id) })
		if err != nil {
			return s, fmt.Errorf("stopping %s: %w", id, err)
		}
	}
	if over := numbers(s.Count, s.Previous); len(over) > 0 {
		err := c.persist(ctx, func(ctx context.Context) error { return c.workers.empty(ctx, over) })
		if err != nil {
			return s, fmt.Errorf("stopping the shards of workers %d to %d: %w", s.Count, s.Previous-1, err)
		}
	}
	s.Completed = true
	return s, c.put(ctx, s)
}

// persist tries until it succeeds.
func (c *coordinator) persist(ctx context.Context, try func(context.Context) error) error {
	for {
		limited, cancel := context.WithTimeout(ctx, c.cfg.RequestTimeout)
		err := try(limited)
		cancel()
		if err == nil {
			return nil
		}
		if err := c.pause(ctx, c.cfg.RequestTimeout/10, nil); err != nil {
			return err
		}
	}
}

// numbers are those from the first up to the end.
func numbers(from, to int) (out []int) {
	for n := from; n < to; n++ {
		out = append(out, n)
	}
	return out
}
