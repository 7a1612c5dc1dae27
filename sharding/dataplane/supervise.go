package dataplane

import (
	"context"
	"log/slog"
	"time"

	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/failure"
)

// Policy is what is done about a failed handler.
type Policy uint8

const (
	StopFailed     Policy = iota // the incarnation is dropped; the next message makes a new one
	RestartFailed                // a new incarnation is made after a backoff; messages wait meanwhile
	ResumeFailed                 // the incarnation goes on with the next message
	EscalateFailed               // the incarnation is dropped, and those of the whole shard end
)

func (p Policy) String() string {
	return [...]string{"stop", "restart", "resume", "escalate"}[p]
}

// Supervisor says what happens to entities whose handlers fail.
type Supervisor struct {
	typ                 string // the entity type's name
	log                 *slog.Logger
	Policy              Policy
	Backoff, BackoffMax time.Duration       // of restarts
	OnFailure           func(FailedHandler) // the user's; nil: no hook
}

// FailedHandler is one failed handler.
type FailedHandler struct {
	ID    string
	Err   error  // what Receive returned, or the panic as an error
	Stack []byte // of a panic
	Done  Policy // what was done about it
}

// supervise deals with a failed handler; true: the worker goes on with the next message.
func (e *Entity) supervise(r *Plane, failure error, stack []byte) bool {
	r.supervisor.report(e, failure, stack, r.supervisor.Policy)
	switch r.supervisor.Policy {
	case ResumeFailed:
		return true
	case RestartFailed:
		e.finish(failure)
		e.backoff(r)
		return false
	case EscalateFailed:
		e.finish(failure)
		e.end(r)
		e.Shard.endOthers(e)
		return false
	default:
		e.finish(failure)
		e.end(r)
		return false
	}
}

// backoff holds the entity for a while; then a new incarnation is made, message or not. To the
// shard's machine it stays active.
func (e *Entity) backoff(r *Plane) {
	x := e.extras()
	pause := min(r.supervisor.Backoff<<min(x.failures, 20), r.supervisor.BackoffMax)
	x.failures++
	if x.restart != nil {
		x.restart.Stop()
	}
	e.Pause(forBackoff)
	x.restart = r.Scheduler.AfterFunc(pause, func() {
		if e.awaits(forBackoff) {
			e.Shard.Command(e, startNow)
		}
	})
}

// extras returns the entity's extra, made when there is none. Only the worker calls it.
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
	e.Mu.Lock()
	x.Forced.Store(e.started) // else it has ended, and what comes is another
	e.Mu.Unlock()
	x.cancelContext(failure.ErrStopped)
	e.Shard.Command(e, StopNow)
}

// Context is the context of the entity's handlers: it ends with the lease and with the incarnation.
func (e *Entity) Context(r *Plane) context.Context {
	x := e.extras()
	x.mu.Lock()
	defer x.mu.Unlock()
	lease := r.Lease.context()
	if x.ctx == nil || x.lease != lease {
		if x.cancel != nil {
			x.cancel(failure.ErrStopped)
		}
		ctx, cancel := context.WithCancelCause(lease)
		x.ctx, x.cancel, x.lease = &handlerContext{Context: ctx, entity: e}, cancel, lease
		if x.Forced.Load() {
			cancel(failure.ErrStopped)
		}
		if e.Shard.Expelled() {
			cancel(failure.ErrNoLease)
		}
	}
	return x.ctx
}

func (x *extra) cancelContext(cause error) {
	x.mu.Lock()
	if x.cancel != nil {
		x.cancel(cause)
	}
	x.mu.Unlock()
}

// timedOut is the message of the receive timeout, if that still holds now that it has come to its
// turn.
func (e *Entity) timedOut(r *Plane) (msg any, ok bool) {
	x := e.extras()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.elapsed = false
	return x.message, x.timeout > 0 && r.Clock()-time.Duration(x.lastHandled.Load()) >= x.timeout
}

// SetReceiveTimeout arranges for msg to be handled whenever nothing else was for d. While one waits
// in the mailbox no other joins it, or an entity that is busy for long would fill its mailbox by
// itself.
func (e *Entity) SetReceiveTimeout(r *Plane, d time.Duration, msg any) {
	x := e.extras()
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
	t = r.Scheduler.AfterFunc(d, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.timer != t {
			return
		}
		idle := r.Clock() - time.Duration(x.lastHandled.Load())
		if idle >= d {
			x.elapsed = x.elapsed || e.accept(Envelope{Call: TimerCall}, 0) == Accepted
			idle = 0
		}
		t.Reset(d - idle)
	})
	x.timer = t
}

// report logs a failure and tells the user's hook.
func (s *Supervisor) report(e *Entity, err error, stack []byte, done Policy) {
	s.log.Error("entity failed", "type", s.typ, "id", e.ID, "error", err, "outcome",
		done.String(), "stack", string(stack))
	if s.OnFailure != nil {
		s.OnFailure(FailedHandler{e.ID, err, stack, done})
	}
}
