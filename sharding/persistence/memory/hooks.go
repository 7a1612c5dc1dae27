package memory

import (
	"context"
	"sync"
)

// Hook is called with the name of a method. It may wait. The call fails with its error.
type Hook = func(ctx context.Context, call string) error

// hooks are called around each call, without a lock.
type hooks struct {
	mu            sync.Mutex
	before, after Hook
}

// Before has fn called at the beginning of every call. One that fails has no effect. nil takes the
// hook away.
func (s *Store) Before(fn Hook) {
	s.hooks.mu.Lock()
	defer s.hooks.mu.Unlock()
	s.hooks.before = fn
}

// After has fn called at the end of every call that would succeed, after its effect. So the answer
// of one that fails is lost. nil takes the hook away.
func (s *Store) After(fn Hook) {
	s.hooks.mu.Lock()
	defer s.hooks.mu.Unlock()
	s.hooks.after = fn
}

func (h *hooks) enter(ctx context.Context, call string) error {
	h.mu.Lock()
	fn := h.before
	h.mu.Unlock()
	if err := run(fn, ctx, call); err != nil {
		return err
	}
	return ctx.Err()
}

func (h *hooks) leave(ctx context.Context, call string) error {
	h.mu.Lock()
	fn := h.after
	h.mu.Unlock()
	return run(fn, ctx, call)
}

// run calls a hook, if there is one.
func run(fn Hook, ctx context.Context, call string) error {
	if fn == nil {
		return nil
	}
	return fn(ctx, call)
}
