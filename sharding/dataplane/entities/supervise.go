package entities

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/failure"
)

// Supervisor says what happens to entities whose handlers fail.
type Supervisor struct {
	Supervision
	Default Directive       // never DefaultDirective
	OnEvent events.Listener // gets each Failure; nil: none

	typ string // the entity type's name
	log *failureLog
}

// guarded is s with its defaults, for a type, whose hooks cannot end what calls them.
func (s Supervisor) guarded(
	typ string, log *slog.Logger, clock func() time.Duration, p *failure.Panics,
) Supervisor {
	s.Supervision, s.typ = s.WithDefaults(), typ
	s.log = &failureLog{log: log, clock: clock, stacks: map[uint64]*toldStack{}}
	s.Decide = guardDecide(p, s.Default, s.Decide)
	s.OnEvent = failure.GuardHook(p, "OnEvent", s.OnEvent)
	return s
}

// decide returns what is done about a failure of an entity. A restart is counted; pause is what
// comes before it.
func (s *Supervisor) decide(x *extra, now time.Duration, err error) (d Directive, pause time.Duration, over bool) {
	d = s.Default
	if s.Decide != nil {
		d = s.Decide(err)
	}
	if d != Restart {
		return d, 0, false
	}
	pause, ok := x.restarts.next(now, &s.Supervision)
	if !ok {
		d = s.OverBudget
	}
	return d, pause, !ok
}

// guardDecide is the user's Decide, which cannot end the worker that calls it, with the type's
// default in place of DefaultDirective.
func guardDecide(p *failure.Panics, def Directive, decide func(error) Directive) func(error) Directive {
	if decide == nil {
		return nil
	}
	type question struct {
		err    error
		answer Directive
	}
	ask := failure.GuardHook(p, "Supervision.Decide", func(q *question) {
		answer := decide(q.err)
		if answer >= directives {
			panic(fmt.Sprintf("it has answered %v, which is none", answer))
		}
		q.answer = answer
	})
	return func(err error) Directive {
		q := question{err, Stop}
		ask(&q)
		return cmp.Or(q.answer, def)
	}
}

// supervise deals with a failed handler; true: the worker goes on with the next message.
func (e *Entity) supervise(r *Runtime, t *turn, err error) bool {
	x := e.extras()
	p := e.forsake()
	switch {
	case p == ofStop:
		r.supervisor.notStopped(e, err)
		e.finish()
		e.end(r)
		return false
	case p.isNew():
		err = fmt.Errorf("in New: %w", err)
	}
	if p == ofNewFor {
		env, size, _ := t.Next() // if it stayed, it would wake the next incarnation at once
		e.released(size)
		r.failed(env, err)
	}
	d, pause, over := r.supervisor.decide(x, r.Clock(), err)
	r.supervisor.report(e, err, d, over)
	switch d {
	case Resume:
		if p.isNew() {
			e.body.End()
			e.body = nil // as when New itself panics
		}
		return true
	case Restart:
		e.finish()
		e.backoff(r, pause, err)
	case Escalate:
		e.finish()
		e.end(r)
		e.Shard.endOthers(e)
	default:
		e.finish()
		e.end(r)
	}
	return false
}

// backoff holds the entity, which has failed, for a while; then a new incarnation is made, message
// or not. To the shard's machine it stays active.
func (e *Entity) backoff(r *Runtime, pause time.Duration, why error) {
	x := e.extras()
	x.backoff.Lock()
	defer x.backoff.Unlock()
	x.why = why
	if x.restart != nil {
		x.restart.Stop()
	}
	e.Pause(mailbox.ForBackoff) // in a shard that drains, another worker may fail with the entity from here on
	x.restart = r.set.Scheduler.AfterFunc(pause, func() {
		if e.State().Awaits(mailbox.ForBackoff) {
			e.Shard.Command(e, mailbox.StartNow)
		}
	})
}

// AwaitsRestart returns the last failure of an entity that is held until its restart; nil: it is not.
func AwaitsRestart(e *Entity) error {
	x := e.Extra.Load()
	if x == nil || !e.State().Awaits(mailbox.ForBackoff) {
		return nil
	}
	x.backoff.Lock()
	defer x.backoff.Unlock()
	return x.why
}

// extras returns the entity's extra, made when there is none.
func (e *Entity) extras() *extra {
	if x := e.Extra.Load(); x != nil {
		return x
	}
	e.Extra.CompareAndSwap(nil, new(extra))
	return e.Extra.Load()
}

// Force ends the incarnation as soon as its handler returns, whatever waits in the mailbox.
func (e *Entity) Force() {
	x := e.extras()
	e.CopyStarted(&x.Forced) // if it is not, it has ended, and what comes is another
	x.cancelLife(failure.ErrStopped)
	e.Shard.Command(e, mailbox.StopNow)
	e.Shard.runtime.proceed(e, mailbox.StopNow)
}

// timedOut is the message of the receive timeout, if that still holds now that it has come to its
// turn.
func (x *extra) timedOut(now time.Duration) (msg any, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.elapsed = false
	return x.message, x.timeout > 0 && now-time.Duration(x.lastHandled.Load()) >= x.timeout
}

// SetReceiveTimeout arranges for msg to be handled whenever nothing else was for d. While one waits
// in the mailbox no other joins it, or an entity that is busy for long would fill its mailbox by
// itself.
func (e *Entity) SetReceiveTimeout(d time.Duration, msg any) {
	r, x := e.Shard.runtime, e.extras()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.timer != nil {
		x.timer.Stop()
		x.timer = nil
	}
	x.timeout, x.message = d, msg
	if d <= 0 {
		return
	}
	x.lastHandled.Store(int64(r.Clock()))
	var t scheduler.Timer
	t = r.set.Scheduler.AfterFunc(d, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.timer != t {
			return
		}
		idle := r.Clock() - time.Duration(x.lastHandled.Load())
		if idle >= d {
			x.elapsed = x.elapsed || e.Accept(mailbox.Envelope{Call: mailbox.TimerCall}, 0) == mailbox.Accepted
			idle = 0
		}
		t.Reset(d - idle)
	})
	x.timer = t
}

// notStopped tells of a Stop that has failed. Its incarnation ends all the same.
func (s *Supervisor) notStopped(e *Entity, err error) {
	e.forsake()
	s.report(e, fmt.Errorf("in Stop: %w", err), Stop, false)
}

// report tells of a failure, and the log if that is due.
func (s *Supervisor) report(e *Entity, err error, d Directive, over bool) {
	f := Failure{Type: s.typ, ID: e.ID, Err: err, Directive: d, OverBudget: over}
	s.log.tell(f)
	if s.OnEvent != nil {
		s.OnEvent(f)
	}
}
