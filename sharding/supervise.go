package sharding

import (
	"context"
	"log/slog"
	"time"
)

// policy is what is done about a failed handler.
type policy uint8

const (
	stopFailed     policy = iota // the incarnation is dropped; the next message makes a new one
	restartFailed                // a new incarnation is made after a backoff; messages wait meanwhile
	resumeFailed                 // the incarnation goes on with the next message
	escalateFailed               // the incarnation is dropped, and those of the whole shard end
)

func (p policy) String() string {
	return [...]string{"stop", "restart", "resume", "escalate"}[p]
}

// supervisor says what happens to entities whose handlers fail.
type supervisor struct {
	typ                 string // the entity type's name
	log                 *slog.Logger
	policy              policy
	backoff, backoffMax time.Duration       // of restarts
	onFailure           func(failedHandler) // the user's; nil: no hook
}

// failedHandler is one failed handler.
type failedHandler struct {
	id    string
	err   error  // what Receive returned, or the panic as an error
	stack []byte // of a panic
	done  policy // what was done about it
}

// supervise deals with a failed handler; true: the worker goes on with the next message.
func (e *entity) supervise(r *core, failure error, stack []byte) bool {
	r.supervisor.report(e, failure, stack, r.supervisor.policy)
	switch r.supervisor.policy {
	case resumeFailed:
		return true
	case restartFailed:
		e.finish(failure)
		e.backoff(r)
		return false
	case escalateFailed:
		e.finish(failure)
		e.end(r)
		e.shard.endOthers(e)
		return false
	default:
		e.finish(failure)
		e.end(r)
		return false
	}
}

// backoff holds the entity for a while; then a new incarnation is made, message or not. To the
// shard's machine it stays active.
func (e *entity) backoff(r *core) {
	x := e.extras()
	pause := min(r.supervisor.backoff<<min(x.failures, 20), r.supervisor.backoffMax)
	x.failures++
	if x.restart != nil {
		x.restart.Stop()
	}
	e.pause(forBackoff)
	x.restart = time.AfterFunc(pause, func() {
		if e.awaits(forBackoff) {
			e.shard.command(e, startNow)
		}
	})
}

// extras returns the entity's extra, made when there is none. Only the worker calls it.
func (e *entity) extras() *extra {
	if x := e.extra.Load(); x != nil {
		return x
	}
	e.extra.CompareAndSwap(nil, new(extra))
	return e.extra.Load()
}

// force ends the incarnation as soon as its handler returns, whatever waits in the mailbox.
func (e *entity) force() {
	x := e.extras()
	e.mu.Lock()
	x.forced.Store(e.started) // else it has ended, and what comes is another
	e.mu.Unlock()
	x.cancelContext(ErrStopped)
	e.shard.command(e, stopNow)
}

// context is the context of the entity's handlers: it ends with the lease and with the incarnation.
func (e *entity) context(r *core) context.Context {
	x := e.extras()
	x.mu.Lock()
	defer x.mu.Unlock()
	lease := r.lease.context()
	if x.ctx == nil || x.lease != lease {
		if x.cancel != nil {
			x.cancel(ErrStopped)
		}
		ctx, cancel := context.WithCancelCause(lease)
		x.ctx, x.cancel, x.lease = &handlerContext{Context: ctx, entity: e}, cancel, lease
		if x.forced.Load() {
			cancel(ErrStopped)
		}
		if e.shard.expelled() {
			cancel(ErrNoLease)
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
func (e *entity) timedOut(r *core) (msg any, ok bool) {
	x := e.extras()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.elapsed = false
	return x.message, x.timeout > 0 && r.clock()-time.Duration(x.lastHandled.Load()) >= x.timeout
}

// setReceiveTimeout arranges for msg to be handled whenever nothing else was for d. While one waits
// in the mailbox no other joins it, or an entity that is busy for long would fill its mailbox by
// itself.
func (e *entity) setReceiveTimeout(r *core, d time.Duration, msg any) {
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
	x.lastHandled.Store(int64(r.clock()))
	var t *time.Timer
	t = time.AfterFunc(d, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.timer != t {
			return
		}
		idle := r.clock() - time.Duration(x.lastHandled.Load())
		if idle >= d {
			x.elapsed = x.elapsed || e.accept(envelope{call: timerCall}, 0) == accepted
			idle = 0
		}
		t.Reset(d - idle)
	})
	x.timer = t
}

// report logs a failure and tells the user's hook.
func (s *supervisor) report(e *entity, err error, stack []byte, done policy) {
	s.log.Error("entity failed", "type", s.typ, "id", e.id, "error", err, "outcome", done.String(), "stack", string(stack))
	if s.onFailure != nil {
		s.onFailure(failedHandler{e.id, err, stack, done})
	}
}
