package sharding

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/sharding/passivation"
)

// entity is one id that is active, starting or stopping on this node. Everything that few entities
// need stands in extra.
type entity struct {
	mailbox
	next    *entity               // in the run queue
	body    incarnation           // nil: none; touched by the worker only
	extra   atomic.Pointer[extra] // nil for most
	shard   *shard
	id      string
	hash    uint32                 // of id, the index's
	slot    passivation.Slot       // the passivator's, under its lock
	sibling atomic.Pointer[entity] // in the shard's index
}

// extra is what most entities never need.
type extra struct {
	forced      atomic.Bool  // end as soon as the handler returns
	lastHandled atomic.Int64 // on the region's clock; kept while there is a receive timeout
	failures    int          // in a row; the worker's
	restart     *time.Timer  // the backoff; the worker's

	mu      sync.Mutex
	timeout time.Duration // receive timeout, 0 = none
	message any           // of the timeout
	timer   *time.Timer
	elapsed bool // it has, and waits in the mailbox for its turn
	ctx     *handlerContext
	cancel  context.CancelCauseFunc
	lease   context.Context // that ctx was derived from
}

// incarnation is the user's entity behind its type parameter.
type incarnation interface {
	receive(env envelope) error
	stop() error
	fail(err error) // answers the question that was being handled, if it still waits
}

// sliceMax is how many messages one entity handles while others wait for a worker.
const sliceMax = 256

// outcome is why a worker stopped handling messages of an entity.
type outcome uint8

const (
	emptied   outcome = iota // everything that was taken is handled
	yielded                  // others wait
	suspended                // the node's lease, or the shard's, is not held
	failed                   // the handler returned an error or panicked
	stopped                  // a stop was asked for, in order or by force
)

// accept puts an envelope into the mailbox and gets it a worker. size is what it counts of the
// bounds in bytes; 0: nothing, it is of this node.
func (e *entity) accept(env envelope, size uint32) verdict {
	r := e.shard.region
	if size > 0 {
		if v := e.reserve(size); v != accepted {
			return v
		}
	}
	v, schedule := e.push(env, size, r.mailboxMax)
	if v != accepted {
		e.released(size)
	}
	if schedule {
		r.pool.submit(e)
	}
	return v
}

// run is a worker's turn with the entity. When it returns, the entity is idle, queued again, held
// or closed.
func (e *entity) run(p *pool, w *worker) {
	if t := e.shard.lease; t != nil {
		t.enter()
		defer t.exit()
	}
	e.slice(p, w)
}

func (e *entity) slice(p *pool, w *worker) {
	r := e.shard.region
	e.fresh = e.shard.passivator != nil
	for e.more() {
		o, stack, failure := e.measured(r, p, w)
		switch {
		case o == emptied && p.queued.Load() > 0:
			o = yielded
		case o == stopped && e.body != nil && !e.shard.holds(): // Stop is a handler, too
			e.again(stopNow)
			o = suspended
		}
		switch o {
		case yielded:
			e.giveBack()
			p.submit(e)
			return
		case suspended:
			e.pause(forLease)
			if !e.shard.expelled() { // else the shard is about to be killed
				r.lease.suspend(e)
			}
			return
		case failed:
			if !e.supervise(r, failure, stack) {
				return
			}
		case stopped:
			e.finish(nil)
			e.end(r)
			return
		}
	}
}

// handle works through what was taken.
func (e *entity) handle(r *core, p *pool, w *worker) (o outcome, stack []byte, failure error) {
	ended := false
	var env envelope
	var size, handled uint32
	defer func() {
		if e.released(handled + size); ended {
			return
		}
		cause := recover()
		o, stack, failure = failed, debug.Stack(), fmt.Errorf("panic: %v", cause)
		if cause == nil {
			failure = errGoexit
		}
		if e.body != nil {
			e.body.fail(failure)
		} else { // it was being made
			failure = fmt.Errorf("in New: %w", failure)
			r.out.fail(env, failure)
		}
		if cause == nil { // this goroutine ends here
			e.resumeElsewhere(r, p, failure, stack)
		}
	}()
	look := w.begun.Load()
	for n := 0; e.taken.len > 0; n++ {
		if x := e.extra.Load(); x != nil && x.forced.Load() {
			o = stopped
			break
		}
		if !e.shard.holds() {
			o = suspended
			break
		}
		if n >= sliceMax && p.queued.Load() > 0 {
			o = yielded
			break
		}
		if handled += size; handled >= releaseStep {
			e.released(handled)
			handled = 0
		}
		env, size, _ = e.taken.pop(&e.first)
		if now := r.slow.look.Load(); now != look {
			look = now
			w.begun.Store(now)
		}
		if env.call == controlCall {
			if e.obey(r, env.msg.(command)) {
				o = stopped
				break
			}
			continue
		}
		if failure = e.receive(r, env); failure != nil {
			o = failed
			break
		}
	}
	ended = true
	return o, nil, failure
}

var errGoexit = errors.New("the handler ended its goroutine")

// resumeElsewhere ends the turn of a worker whose goroutine a handler has ended.
func (e *entity) resumeElsewhere(r *core, p *pool, failure error, stack []byte) {
	p.ended.Go(func() {
		if e.supervise(r, failure, stack) {
			e.giveBack()
			p.submit(e)
		}
	})
}

func (e *entity) receive(r *core, env envelope) error {
	if env.call == timerCall {
		var over bool
		if env.msg, over = e.timedOut(r); !over {
			return nil
		}
	}
	if e.fresh && env.call != timerCall {
		e.shard.keep(e)
	}
	if e.body == nil {
		e.body = r.newBody(e)
	}
	if err := e.body.receive(env); err != nil {
		return err
	}
	if tick := r.idleScan.tick.Load(); e.seen.Load() != tick && env.call != timerCall {
		e.seen.Store(tick)
	}
	if x := e.extra.Load(); x != nil {
		x.failures = 0
		if env.call != timerCall {
			x.lastHandled.Store(int64(r.clock()))
		}
	}
	return nil
}

// obey carries a control envelope out; true: the incarnation has to end.
func (e *entity) obey(r *core, c command) (stop bool) {
	switch c {
	case startNow:
		if e.body == nil {
			if e.fresh {
				e.shard.keep(e)
			}
			e.body = r.newBody(e)
			e.seen.Store(r.idleScan.tick.Load())
		}
	case stopNow:
		return true
	}
	return false
}

// finish ends the incarnation, in order when failure is nil.
func (e *entity) finish(failure error) {
	b := e.body
	e.body = nil
	if b != nil && failure == nil {
		e.stopBody(b)
	}
	e.resetExtra()
}

func (e *entity) resetExtra() {
	if x := e.extra.Load(); x != nil {
		x.reset()
	}
}

// stopBody calls the user's Stop. If that ends its goroutine, another one ends the turn of the
// worker.
func (e *entity) stopBody(b incarnation) {
	r, returned := e.shard.region, false
	defer func() {
		if returned {
			return
		}
		stack := debug.Stack()
		if p := recover(); p != nil {
			r.supervisor.report(e, fmt.Errorf("panic in Stop: %v", p), stack, stopFailed)
			return
		}
		r.pool.ended.Go(func() {
			r.supervisor.report(e, fmt.Errorf("in Stop: %w", errGoexit), stack, stopFailed)
			e.resetExtra()
			e.end(r)
		})
	}()
	err := b.stop()
	returned = true
	if err != nil {
		r.supervisor.report(e, fmt.Errorf("stop: %w", err), nil, stopFailed)
	}
}

// reset takes back what belonged to the incarnation that has ended.
func (x *extra) reset() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.timer != nil {
		x.timer.Stop()
	}
	if x.cancel != nil {
		x.cancel(ErrStopped)
	}
	x.timer, x.timeout, x.message, x.elapsed = nil, 0, nil, false
	x.ctx, x.cancel, x.lease = nil, nil, nil
	x.forced.Store(false)
}

// more takes what waits. When nothing does, the entity is idle and no longer the worker's.
func (e *entity) more() bool {
	if e.taken.len > 0 { // a failure came between
		return true
	}
	ok, rested := e.refill(e.shard.region.mailboxMax)
	rested.settled()
	return ok
}

// pause holds the entity. A kill of the shard that found a worker here has left the mailbox to it.
func (e *entity) pause(why holdReason) {
	e.hold(why).settled()
	if e.shard.isDead() {
		e.bury()
	}
}

// end tells the shard's machine that the incarnation is over. What waits is for the next one. The
// machine hears of the end before the id can be woken again, because only then is the entity
// taken out of the shard.
func (e *entity) end(r *core) {
	s := e.shard
	e.pause(forStart)
	if x := e.extra.Load(); x != nil {
		x.forced.Store(false) // since finish it may have been set again, from here on it cannot
	}
	s.active.Add(-1)
	if s.passivator != nil {
		s.passivator.ended(e)
	}
	r.entityStopped(s, e.id)
	if !s.remove(e) {
		r.wake(s, e.id)
	}
}

// bury hands what is left in the mailbox of a dead shard's entity to the shard's taker, unless a
// worker is about to.
func (e *entity) bury() {
	rest, rested := e.shut()
	for env, size, ok := rest.pop(&e.first); ok; env, size, ok = rest.pop(&e.first) {
		e.released(size)
		if !env.internal() {
			e.shard.out(e, env, size)
		}
	}
	rested.settled()
	if x := e.extra.Load(); x != nil && e.isClosed() {
		x.reset()
	}
}
