package entities

import (
	"errors"
	"fmt"
	"sync"

	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
)

// Awaited is the rest of a handler that waits for a result from outside. Its entity handles nothing
// else meanwhile, and keeps no worker.
type Awaited struct {
	entity *Entity
	what   fmt.Stringer // it waits for, written before hold; nil: it did not say

	mu   sync.Mutex              // taken before the mailbox's
	rest func(Incarnation) error // nil: the result has not come
	held bool                    // the mailbox waits for it
	over bool                    // the rest has run, or never will

	wait
}

// unfinished is what a handler has left that waits for a result.
type unfinished struct {
	part part
	size uint32 // what the message counts of the bounds in bytes
}

// part is the handler that has left something unfinished.
type part uint8

const (
	ofNothing part = iota
	ofMessage
	ofNew    // without a message
	ofNewFor // the first message in the mailbox
	ofStop
)

func (p part) isNew() bool { return p == ofNew || p == ofNewFor }

// Await says that the handler at hand has not finished when it returns. It is for the handler's
// goroutine. Of two calls during one handler the second one is nil.
func (h *Handler) Await() *Awaited {
	a := &Awaited{entity: h.Entity}
	if !h.Entity.extras().awaited.CompareAndSwap(nil, a) {
		return nil
	}
	return a
}

// For says what the handler waits for. It is for the handler's goroutine.
func (a *Awaited) For(what fmt.Stringer) { a.what = what }

// Awaits reports whether the handler at hand waits for a result. It is for the handler's goroutine.
func (h *Handler) Awaits() bool { return h.Entity.Extra.Load().awaits() }

// Continue has a worker run the rest, before all that waits in the mailbox. It reports whether
// it will; false: it was called before, or the incarnation has ended. Any goroutine may call it.
func (a *Awaited) Continue(rest func(Incarnation) error) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over || a.rest != nil {
		return false
	}
	if a.rest = rest; a.held {
		a.entity.Shard.runtime.Waits.remove(a)
		a.entity.Shard.runtime.proceed(a.entity, mailbox.Continue)
	}
	return true
}

// hold holds the entity until the result comes; false: it has come.
func (a *Awaited) hold() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.rest != nil {
		return false
	}
	a.held = true
	a.entity.Shard.runtime.Waits.add(a)
	a.entity.Hold(mailbox.ForResult) // no drain is told: the entity does not rest
	return true
}

// end takes the rest, which nothing else can run any more; nil: the result has not come.
func (a *Awaited) end() func(Incarnation) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over = true; a.held && a.rest == nil {
		a.entity.Shard.runtime.Waits.remove(a)
	}
	return a.rest
}

// awaits reports whether the handler at hand waits for a result. The worker asks. x may be nil.
func (x *extra) awaits() bool { return x != nil && x.awaited.Load() != nil }

// suspend ends the turn of a worker with an entity that waits for a result; false: that has come, and
// the turn goes on with it. An end by force does not wait: Force sets its mark before it looks for a
// hold, and here the hold comes before the look at the mark.
func (a *Awaited) suspend() bool {
	e := a.entity
	if !a.hold() {
		e.Again(mailbox.Continue)
		return false
	}
	if e.Extra.Load().Forced.Load() {
		e.Shard.runtime.proceed(e, mailbox.StopNow)
	}
	if r := e.Shard.runtime; r.set.Defects.Planted(defect.HandlesMeanwhile) && e.Release(mailbox.ForResult) {
		r.Pool.Submit(e)
	}
	return true
}

// proceed has a worker go on with an entity, if that is held for a result.
func (r *Runtime) proceed(e *Entity, c mailbox.Command) {
	if e.Proceed(c) {
		r.Pool.Submit(e)
	}
}

// proceed runs the rest of a handler, whose result has come. What is unfinished remains so until the
// rest has returned in order.
func (e *Entity) proceed(r *Runtime, t *turn, size *uint32) (outcome, error) {
	x := e.Extra.Load()
	a := x.awaited.Swap(nil)
	*size, x.unfinished.size = x.unfinished.size, 0
	e.renew()
	defer e.used(r, t, mailbox.Envelope{}) // also of a rest that panics
	err := a.end()(e.body)
	if err != nil || !x.awaits() {
		x.endMessage(err)
	}
	if err != nil {
		return failed, err
	}
	p := x.unfinished.part
	x.returned(p)
	if p == ofStop && !e.Extra.Load().awaits() {
		return stopped, nil
	}
	return emptied, nil
}

// returned notes that a handler, or its rest, has returned in order. What waits for a result is not
// finished yet. That of Stop remains until the incarnation has ended, so that it is not called twice.
func (x *extra) returned(p part) {
	switch {
	case x.awaited.Load() != nil || p == ofStop:
		x.unfinished.part = p
		return
	case p == ofMessage:
		x.restarts.handled()
	}
	x.unfinished.part = ofNothing
}

// errForsaken answers the question of a message that its incarnation did not finish.
var errForsaken = errors.New("it was ended before the result came that it waited for (Context.Await)")

// forsake ends what a handler has left unfinished, and says what that was: the incarnation ends, or
// has failed with it.
func (e *Entity) forsake() (p part) {
	x := e.Extra.Load()
	if x == nil {
		return ofNothing
	}
	u := x.unfinished
	x.unfinished = unfinished{}
	e.released(u.size)
	x.endMessage(errForsaken)
	a := x.awaited.Swap(nil)
	if a == nil {
		return u.part
	}
	a.end()
	if e.body != nil {
		e.body.Fail(errForsaken)
	}
	return u.part
}
