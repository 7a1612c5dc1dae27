package lease

import (
	"cmp"
	"sync/atomic"
)

// Shard is what a shard with a lease of its own has of it. Its methods are safe for concurrent use.
type Shard struct {
	hold     atomic.Pointer[Hold]          // nil: not granted yet
	returned atomic.Bool                   // given back after everything had stopped in order
	waitsFor atomic.Pointer[func() string] // says why there is no answer; nil: nothing was asked for yet
	refused  atomic.Pointer[string]        // what the store has said

	// under counts what goes on under the lease: workers with one of its entities, and writes of
	// its machine. The lease is given back when there is nothing of it, because its next holder may
	// begin at once.
	under atomic.Int64
	quiet atomic.Pointer[func()] // to be called when nothing is under it any more
}

// Ask notes that the store is being asked. waitsFor says why there is no answer, if it knows.
func (t *Shard) Ask(waitsFor func() string) { t.waitsFor.Store(&waitsFor) }

// Refuse notes what the store has said instead of granting the lease.
func (t *Shard) Refuse(why string) { t.refused.Store(&why) }

// Grant takes a hold.
func (t *Shard) Grant(g *Hold) {
	t.returned.Store(false)
	t.hold.Store(g)
}

// Return ends the hold in order: everything has stopped.
func (t *Shard) Return() {
	t.returned.Store(true)
	t.Close()
}

// Close ends the hold without a word.
func (t *Shard) Close() { t.hold.Load().Close() }

// Open reports whether the lease is held at this moment.
func (t *Shard) Open() bool { return t.hold.Load().Open() }

// Returned reports whether the lease was given back in order, and not granted since.
func (t *Shard) Returned() bool { return t.returned.Load() }

// Awaits says why the lease is not held; empty: it is, or was until now.
func (t *Shard) Awaits() string {
	if g := t.hold.Load(); g != nil && !g.closed.Load() {
		return ""
	}
	why := "the store has not answered yet"
	if said := t.refused.Load(); said != nil {
		why = *said
	}
	if waitsFor := t.waitsFor.Load(); waitsFor != nil {
		why = cmp.Or((*waitsFor)(), why)
	}
	return why
}

// Enter begins something under the lease: a worker's turn, or a write.
func (t *Shard) Enter() { t.under.Add(1) }

// Exit ends it.
func (t *Shard) Exit() {
	if t.under.Add(-1) == 0 {
		t.settle()
	}
}

// WhenQuiet calls fn, once, when nothing goes on under the lease.
func (t *Shard) WhenQuiet(fn func()) {
	t.quiet.Store(&fn)
	t.settle()
}

func (t *Shard) settle() {
	if t.under.Load() > 0 {
		return
	}
	if fn := t.quiet.Swap(nil); fn != nil {
		(*fn)()
	}
}
