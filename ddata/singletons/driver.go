package singletons

import (
	"context"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/shutdown"
)

// input is one input of the machine.
type input struct {
	in   singleton.Input
	from runloop.Permit // of another node's word
}

// driver drives the machine of a Singleton.
type driver struct{ *Singleton }

var _ runloop.Machine[input] = driver{}

// Step implements runloop.Machine.
func (s driver) Step(now time.Time, q input) {
	q.from.Release()
	fx := s.m.Step(now, q.in)
	for _, e := range fx.Send {
		s.sendWord(e)
	}
	if fx.Stop && s.cancel != nil {
		s.cancel(s.cause())
	}
	if fx.State != nil {
		s.tellState(*fx.State)
	}
	if fx.Start {
		s.begin(fx.Token)
	}
}

// Flush implements runloop.Machine.
func (s driver) Flush() {}

// Deadline implements runloop.Machine.
func (s driver) Deadline() time.Time { return s.m.Deadline() }

// Tick implements runloop.Machine.
func (s driver) Tick() input { return input{in: singleton.Tick{}} }

func (s *Singleton) tellState(state State) {
	s.state.Store(uint32(state))
	s.h.Emit(events.SingletonChanged{Name: s.cfg.Name, Role: s.cfg.Role, State: state})
	if state == singleton.HandedOver {
		close(s.handed)
	}
}

// begin calls Run, if the lease holds at this moment.
func (s *Singleton) begin(token FencingToken) {
	ctx, cancel := context.WithCancelCause(context.Background())
	s.cancel = cancel
	s.h.Scheduler.Go(func() {
		defer s.post(singleton.Exited{})
		defer cancel(nil)
		if !s.h.Lease.Holds() {
			return
		}
		if err := s.cfg.Run(ctx, token); err != nil && ctx.Err() == nil {
			s.h.Emit(events.SingletonFailed{
				Name: s.cfg.Name, Role: s.cfg.Role, Err: err, Again: s.cfg.RestartAfter,
			})
		}
	})
}

// cause is why Run has to return.
func (s *Singleton) cause() error {
	if err := s.h.Lifecycle.Ended(); err != nil {
		return err
	}
	if !s.h.Lease.Holds() {
		return ErrNoLease
	}
	return ErrLeft
}

// follow begins, and has the machine hear of what happens to the node.
func (s *Singleton) follow() {
	s.loop.Start()
	h := s.h
	h.Lifecycle.OnShutdown(shutdown.ClusterExiting, "singleton "+s.cfg.Name, s.handOver)
	h.Lease.OnLease(func(held bool) { s.post(singleton.LeaseChanged{Held: held}) })
	h.Cluster.OnView(s.installed)
	s.installed(h.Cluster.View())
	h.Lifecycle.OnEnd(s.end)
}

// installed tells of a view. Of the end the machine hears from end.
func (s *Singleton) installed(v *view.View) {
	if v != nil {
		s.post(singleton.LeaseChanged{Held: s.h.Lease.Holds()})
		s.post(singleton.ViewChanged{View: v})
	}
}

// handOver is the task of the phase cluster-exiting.
func (s *Singleton) handOver(ctx context.Context) error {
	s.post(singleton.Leave{})
	if s.h.Scheduler.Await(s.handed, s.loop.Stopped(), ctx.Done()) == 2 {
		return fmt.Errorf("singleton %q does not stop: %w", s.cfg.Name, ctx.Err())
	}
	return nil
}

// endTimeout is how long the end of a node waits for Run to return.
const endTimeout = time.Second

// end stops it with the node.
func (s *Singleton) end(error) {
	s.post(singleton.ViewChanged{})
	s.post(singleton.Leave{})
	late := make(chan struct{})
	t := s.h.Scheduler.AfterFunc(endTimeout, func() { close(late) })
	defer t.Stop()
	if s.h.Scheduler.Await(s.handed, late, nil) == 1 {
		s.h.Emit(events.SingletonOutlived{Name: s.cfg.Name, Role: s.cfg.Role})
	}
	s.loop.Stop()
}
