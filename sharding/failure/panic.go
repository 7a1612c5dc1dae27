package failure

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Panics counts and logs what a region has survived of the user's code. Its methods are safe for
// concurrent use.
//
// The user's codecs, hooks and stores of leases run on goroutines that serve many: readers of
// connections, workers, the control loop. A panic of one of them costs a message or a call, is
// counted in Stats.Panics and logged, and the goroutine goes on.
type Panics struct {
	typ       string // the entity type's name
	log       *slog.Logger
	scheduler scheduler.Scheduler
	count     atomic.Uint64
}

// NewPanics makes the counts of an entity type.
func NewPanics(typ string, log *slog.Logger, s scheduler.Scheduler) *Panics {
	return &Panics{typ: typ, log: log, scheduler: s}
}

// Count is how many panics were survived.
func (s *Panics) Count() uint64 { return s.count.Load() }

// NoteCodec counts a panic of a codec, if that is what err says.
func (s *Panics) NoteCodec(err error) {
	var p *codec.Panic
	if errors.As(err, &p) {
		s.panicked("the "+p.What+" of a message", p.Text, p.Stack)
	}
}

// panicked counts and logs a panic of the user's code: the first, the second, the fourth and so on,
// for one message may come a million times.
func (s *Panics) panicked(in, text string, stack []byte) {
	if n := s.count.Add(1); n&(n-1) == 0 {
		s.log.Error("user code panicked", "type", s.typ, "in", in, "panic", text, "so_far", n, "stack", string(stack))
	}
}

// Survive is deferred around a call of the user's code.
func (s *Panics) Survive(in string) {
	if p := recover(); p != nil {
		s.panicked(in, fmt.Sprint(p), debug.Stack())
	}
}

// GuardHook is a hook of the user's that cannot end the goroutine that calls it, neither by a panic
// nor by runtime.Goexit, as a test's Fatal does.
func GuardHook[T any](s *Panics, name string, hook func(T)) func(T) {
	if hook == nil {
		return nil
	}
	return func(v T) {
		s.scheduler.Shield(func() {
			defer s.Survive(name)
			hook(v)
		})
	}
}

// GuardShardFunc is f, by which an id belongs to shard 0 if the user's Of panics at it.
func (s *Panics) GuardShardFunc(f protocol.ShardFunc) protocol.ShardFunc {
	of := f.Of
	if of == nil {
		return f
	}
	f.Of = func(id string) (shard protocol.ShardID) {
		defer s.Survive("ShardOf.Of")
		return of(id)
	}
	return f
}

// GuardLeases is a store of leases whose panics are errors of the call. field is the one of
// EntityType that it is in.
func (s *Panics) GuardLeases(field string, store locks.Store) locks.Store {
	if store == nil {
		return nil
	}
	return locks.Guarded(store, func(p locks.Panic) {
		s.panicked(fmt.Sprintf("%s of EntityType.%s for %q", p.Call, field, p.Name), fmt.Sprint(p.Value), p.Stack)
	})
}
