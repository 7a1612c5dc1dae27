package shutdown

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/scheduler"
)

// ErrUnfinished: tasks of a phase did not end in time. They are named, and run on.
var ErrUnfinished = errors.New("shutdown: tasks did not end in time")

// Ended tells of a phase that had tasks and has ended.
type Ended struct {
	Phase      Phase
	Took       time.Duration
	Unfinished []string // tasks that did not end in time
	Err        error    // of the tasks that ended
}

// Sequence holds the tasks of a shutdown. Its methods may be called from any goroutine.
type Sequence struct {
	s        scheduler.Scheduler
	timeouts map[Phase]time.Duration
	told     func(Ended)
	turn     chan struct{} // capacity 1: has something while no phase runs

	mu     sync.Mutex
	nextID int
	tasks  [Phases]map[int]task
	begun  [Phases]bool
}

type task struct {
	name string
	run  func(context.Context) error
}

// New makes a sequence without tasks, which s runs. timeouts are those that differ from the default; told, when
// not nil, hears of each phase that had tasks.
func New(s scheduler.Scheduler, timeouts map[Phase]time.Duration, told func(Ended)) *Sequence {
	q := &Sequence{s: s, timeouts: maps.Clone(timeouts), told: told, turn: make(chan struct{}, 1)}
	for p := range q.tasks {
		q.tasks[p] = map[int]task{}
	}
	q.turn <- struct{}{}
	return q
}

// Add registers a task for a phase; name says in errors whose it is. It is not run when the phase
// has begun already. cancel takes it back.
func (s *Sequence) Add(phase Phase, name string, run func(context.Context) error) (cancel func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if phase >= Phases || s.begun[phase] {
		return func() {}
	}
	id := s.nextID
	s.nextID++
	s.tasks[phase][id] = task{name, run}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.tasks[phase], id)
	}
}

// Run runs the tasks of phases, one phase after the other, except phases that have run before. It
// returns what went wrong, in all of them; ctx ends the tasks earlier than their phase's time-out.
func (s *Sequence) Run(ctx context.Context, phases ...Phase) error {
	var errs []error
	for _, p := range phases {
		errs = append(errs, s.run(ctx, p))
	}
	return errors.Join(errs...)
}

// grace is how long a task has got to return after its context has ended.
const grace = 100 * time.Millisecond

func (s *Sequence) run(ctx context.Context, p Phase) error {
	s.s.Await(s.turn, nil, nil)
	defer func() { s.turn <- struct{}{} }()
	tasks := s.take(p)
	if len(tasks) == 0 {
		return nil
	}
	began := s.s.Now()
	ctx, cancel := s.limit(ctx, p)
	defer cancel()
	e := Ended{Phase: p}
	e.Unfinished, e.Err = s.together(ctx, tasks)
	e.Took = s.s.Since(began)
	if s.told != nil {
		s.told(e)
	}
	if len(e.Unfinished) > 0 {
		e.Err = errors.Join(fmt.Errorf("%w: %s after %v", ErrUnfinished, strings.Join(e.Unfinished, ", "), e.Took),
			e.Err)
	}
	if e.Err != nil {
		return fmt.Errorf("phase %v: %w", p, e.Err)
	}
	return nil
}

// take returns the tasks of a phase in the order of their registration, once.
func (s *Sequence) take(p Phase) []task {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun[p] {
		return nil
	}
	s.begun[p] = true
	tasks := make([]task, 0, len(s.tasks[p]))
	for _, id := range slices.Sorted(maps.Keys(s.tasks[p])) {
		tasks = append(tasks, s.tasks[p][id])
	}
	return tasks
}

// limit gives a phase its time.
func (s *Sequence) limit(ctx context.Context, p Phase) (context.Context, context.CancelFunc) {
	d, ok := s.timeouts[p]
	switch {
	case !ok && p.HandsOver():
		return context.WithCancel(ctx)
	case !ok:
		d = DefaultTimeout
	}
	return s.s.WithTimeout(ctx, d)
}

// together runs tasks side by side until all have ended, or ctx and a little more.
func (s *Sequence) together(ctx context.Context, tasks []task) (unfinished []string, err error) {
	var mu sync.Mutex
	ended := make([]bool, len(tasks))
	var errs []error
	all := scheduler.NewGroup(s.s)
	for i, t := range tasks {
		all.Go(func() {
			err := t.run(ctx)
			mu.Lock()
			defer mu.Unlock()
			ended[i] = true
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", t.name, err))
			}
		})
	}
	if over := all.Over(); s.s.Await(over, ctx.Done(), nil) == 1 {
		late := make(chan struct{})
		t := s.s.AfterFunc(grace, func() { close(late) })
		s.s.Await(over, late, nil)
		t.Stop()
	}
	mu.Lock()
	defer mu.Unlock()
	for i, t := range tasks {
		if !ended[i] {
			unfinished = append(unfinished, t.name)
		}
	}
	return unfinished, errors.Join(errs...)
}
