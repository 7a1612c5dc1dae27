package entities

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/sharding/failure"
)

// Handler is what the handlers of one incarnation have of the time in which they run: a
// context.Context, and whether they may have an effect. It ends with the incarnation. An
// incarnation whose node has lost its lease, and has it back, has another one.
//
// It is made without a context: the first caller that asks for that makes it. So an incarnation
// whose handlers never ask costs no more.
type Handler struct {
	Entity *Entity              // nil: of no entity, and it never ends
	life   atomic.Pointer[life] // nil: it goes on, and nothing has asked for its context
}

// life is the context that a Handler has made.
type life struct {
	context.Context
	cancel context.CancelCauseFunc
	over   atomic.Bool // the incarnation has ended, or has another Handler
}

func (l *life) hasEnded() bool { return l.Err() != nil }

// overLife is the life of a Handler that has ended before anything asked for it.
var overLife = func() *life {
	ctx, cancel := context.WithCancelCause(context.Background())
	l := &life{Context: ctx, cancel: cancel}
	l.end()
	return l
}()

// end ends the life for good.
func (l *life) end() {
	l.over.Store(true)
	l.cancel(failure.ErrStopped)
}

var _ context.Context = (*Handler)(nil)

// Deadline implements context.Context: there is none.
func (h *Handler) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// Done implements context.Context.
func (h *Handler) Done() <-chan struct{} {
	if h.Entity == nil {
		return nil
	}
	return h.lives().Done()
}

// Err implements context.Context.
func (h *Handler) Err() error {
	if h.Entity == nil {
		return nil
	}
	return h.lives().Err()
}

type handlerKey struct{}

// Value implements context.Context.
func (h *Handler) Value(key any) any {
	switch {
	case key == handlerKey{}:
		return h
	case h.Entity == nil:
		return nil
	}
	if v := h.Entity.Extra.Load().value(key); v != nil {
		return v
	}
	return h.lives().Value(key)
}

// HandlerOf finds the handler that a context, or what it is derived from, belongs to; nil: none. By
// this a Tell or an Ask sees that it is inside a handler.
func HandlerOf(ctx context.Context) *Handler {
	if ctx == context.Background() {
		return nil
	}
	h, _ := ctx.Value(handlerKey{}).(*Handler)
	return h
}

// InHandler is a context for sends that must not wait.
var InHandler context.Context = &Handler{}

// Holds reports whether the entity, or what sends without one, may act.
func (h *Handler) Holds(r *Runtime) bool {
	if h.Entity == nil {
		return r.Lease.Holds()
	}
	return h.Entity.Shard.Holds()
}

// Shard is the shard of the handler's entity; nil: it is of none.
func (h *Handler) Shard() *Shard {
	if h.Entity == nil {
		return nil
	}
	return h.Entity.Shard
}

// Block says that the handler is about to wait for something that may need a worker.
func (h *Handler) Block() {
	if h.Entity != nil {
		h.Entity.Shard.runtime.Pool.Block()
	}
}

// Unblock ends Block.
func (h *Handler) Unblock() {
	if h.Entity != nil {
		h.Entity.Shard.runtime.Pool.Unblock()
	}
}

// Refused says why a handler may have no effect; nil: it may. One that has returned is told so,
// unless the entity is at work with another message.
func (h *Handler) Refused() error {
	l := h.life.Load()
	switch {
	case l != nil && l.over.Load() || !h.Entity.State().Runs():
		return failure.ErrHandlerReturned
	case !h.Entity.Shard.Holds():
		return failure.ErrNoLease
	}
	return nil
}

// End ends the Handler: the incarnation is over, or gets another one.
func (h *Handler) End() {
	if !h.life.CompareAndSwap(nil, overLife) {
		h.life.Load().end()
	}
}

// lives returns the life, made if there is none.
func (h *Handler) lives() *life {
	if l := h.life.Load(); l != nil {
		return l
	}
	return h.beginLife()
}

// beginLife makes the context of a Handler. Whatever ends it is looked at after it can be found, so
// that an end that comes meanwhile cancels it, or is seen here.
func (h *Handler) beginLife() *life {
	e, x := h.Entity, h.Entity.extras()
	x.mu.Lock()
	defer x.mu.Unlock()
	ctx, cancel := context.WithCancelCause(e.Shard.runtime.Lease.Context())
	l := &life{Context: ctx, cancel: cancel}
	if !h.life.CompareAndSwap(nil, l) { // it was made, or has ended
		cancel(failure.ErrStopped)
		return h.life.Load()
	}
	x.life.Store(l)
	if x.Forced.Load() || e.Shard.isDead() {
		cancel(failure.ErrStopped)
	}
	if e.Shard.Expelled() {
		cancel(failure.ErrNoLease)
	}
	return l
}

// renew gives the incarnation another Handler if the context of the present one has ended with the
// lease, which is back.
func (e *Entity) renew() {
	x := e.Extra.Load()
	if x == nil || x.Forced.Load() {
		return
	}
	if l := x.life.Load(); l != nil && l.hasEnded() && x.life.CompareAndSwap(l, nil) {
		e.body = e.body.Renewed()
	}
}

// cancelLife ends the context of the present Handler, if there is one.
func (x *extra) cancelLife(cause error) {
	if l := x.life.Load(); l != nil {
		l.cancel(cause)
	}
}
