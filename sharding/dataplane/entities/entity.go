package entities

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/dataplane/lease"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/dataplane/pool"
	"github.com/coterie-go/coterie/sharding/dataplane/spans"
	"github.com/coterie-go/coterie/sharding/failure"
	"github.com/coterie-go/coterie/sharding/passivation"
)

// Entity is one id that is active, starting or stopping on this node. Everything that few entities
// need stands in extra.
//
// The mailbox is the first of its two cache lines. For a message the worker needs the second one alone,
// which seldom changes.
type Entity struct {
	mailbox.Mailbox
	body    Incarnation           // nil: none; touched by the worker only
	Extra   atomic.Pointer[extra] // nil for most
	Shard   *Shard
	ID      string
	sibling atomic.Pointer[Entity] // in the shard's index
	mark    mark
	Slot    passivation.Slot // the passivator's, under its lock
}

// turn is what a worker needs of an entity while it runs it. A worker has one, and uses it for one entity
// after the other.
type turn struct {
	mailbox.Turn
	worker *pool.Slice
	fresh  bool   // no message of this turn has counted as a use yet
	seen   uint32 // the tick that was noted in this turn, one more; 0: none
}

// turnOf returns the turn of a worker, readied for an entity.
func turnOf(w *pool.Slice, e *Entity) *turn {
	t, _ := w.Own.(*turn)
	if t == nil {
		t = &turn{worker: w}
		w.Own = t
	}
	t.fresh, t.seen = e.Shard.Passivator != nil, 0
	return t
}

// extra is what most entities never need.
type extra struct {
	Forced      atomic.Bool     // end as soon as the handler returns
	lastHandled atomic.Int64    // on the region's clock; kept while there is a receive timeout
	restarts    restarts        // the worker's
	backoff     sync.Mutex      // held from the pause of a backoff until its timer is known
	restart     scheduler.Timer // the backoff; under backoff; nil: none
	why         error           // the failure that it follows; under backoff; nil: there was none

	life    atomic.Pointer[life]    // of the incarnation's Handler; set under mu; nil: it has made none
	awaited atomic.Pointer[Awaited] // by the handler at hand; nil: nothing

	unfinished unfinished // the worker's
	reminder   *Reminder  // that is being handled; nil: none; the worker's

	trace atomic.Pointer[trace] // of the message at hand; nil: it belongs to none; set by the worker

	mu      sync.Mutex
	timeout time.Duration   // receive timeout, 0 = none
	message any             // of the timeout
	timer   scheduler.Timer // nil: none
	elapsed bool            // it has, and waits in the mailbox for its turn
	timers  map[*Timer]struct{}
}

// Incarnation is the user's entity behind its type parameter.
type Incarnation interface {
	Receive(env mailbox.Envelope) error
	Stop() error
	Fail(err error)       // answers the question that was being handled, if it still waits
	Renewed() Incarnation // the same with another Handler; that of this one has ended
	End()                 // ends its Handler
}

// sliceMax is how many messages one entity handles while others wait for a worker.
const sliceMax = 256

// sparseBelow is how many messages a slice handles that is not sparse.
const sparseBelow = 8

var _ lease.Suspended = (*Entity)(nil)

// LeaseReturned implements lease.Suspended.
func (e *Entity) LeaseReturned() {
	if e.Release(mailbox.ForLease) {
		e.Shard.runtime.Pool.Submit(e)
	}
}

// outcome is why a worker stopped handling messages of an entity.
type outcome uint8

const (
	emptied   outcome = iota // everything that was taken is handled
	yielded                  // others wait
	suspended                // the node's lease, or the shard's, is not held
	awaiting                 // a handler has called Await, and has returned in order
	failed                   // the handler returned an error or panicked
	stopped                  // a stop was asked for, in order or by force
)

// String names the entity where handlers are told of that do not return.
func (e *Entity) String() string { return fmt.Sprintf("shard %d, entity %q", e.Shard.Number, e.ID) }

// Run implements pool.Task. When it returns, the entity is idle, queued again, held or closed.
func (e *Entity) Run(w *pool.Slice) {
	if t := e.Shard.Lease; t != nil {
		t.Enter()
		defer t.Exit()
	}
	e.slice(turnOf(w, e))
}

func (e *Entity) slice(t *turn) {
	r := e.Shard.runtime
	for e.more(t) {
		few := t.Taken() < sparseBelow
		o, err := e.measured(r, t)
		switch {
		case o == emptied && t.worker.Others():
			o = yielded
		case o == stopped && e.body != nil && !e.Shard.Holds(): // Stop is a handler, too
			e.Again(mailbox.StopNow)
			o = suspended
		case o == stopped && e.stop():
			o = awaiting
		}
		if o == awaiting {
			if e.Extra.Load().awaited.Load().suspend() {
				return
			}
			if o = emptied; t.worker.Others() {
				o = yielded
			}
		}
		switch o {
		case yielded:
			e.GiveBack()
			r.Pool.Submit(e)
			if few {
				t.worker.Sparse()
			}
			return
		case suspended:
			e.Pause(mailbox.ForLease)
			if !e.Shard.Expelled() { // else the shard is about to be killed
				r.Lease.Suspend(e)
			}
			return
		case failed:
			if !e.supervise(r, t, err) {
				return
			}
		case stopped:
			e.finish()
			e.end(r)
			return
		}
	}
}

// handle works through what was taken.
func (e *Entity) handle(r *Runtime, t *turn) (o outcome, err error) {
	ended := false
	var env mailbox.Envelope
	var size, handled uint32
	defer func() {
		if e.released(handled + size); ended {
			return
		}
		cause := recover()
		o, err = failed, failure.OfRecovered(cause)
		e.used(r, t, env)
		if e.body != nil {
			e.body.Fail(err)
		} else { // it was being made
			err = fmt.Errorf("in New: %w", err)
			r.failed(env, err)
		}
		e.Extra.Load().endMessage(err)
		if cause == nil { // this goroutine ends here
			r.resumeElsewhere(e, t, err)
		}
	}()
	for n := 0; t.Taken() > 0; n++ {
		if x := e.Extra.Load(); x != nil && x.Forced.Load() {
			o = stopped
			break
		}
		if !e.Shard.Holds() {
			o = suspended
			break
		}
		if n >= sliceMax && t.worker.Others() {
			o = yielded
			break
		}
		if handled += size; handled >= releaseStep {
			e.released(handled)
			handled = 0
		}
		env, size, _ = t.Next()
		t.worker.Begin()
		if o, err = e.take(r, t, env, &size); o != emptied || e.Extra.Load().awaits() {
			break
		}
	}
	if ended = true; o == emptied && e.Extra.Load().awaits() {
		o = awaiting
		e.Extra.Load().unfinished.size, size = size, 0
	}
	return o, err
}

// take handles one envelope. size is what it counts of the bounds in bytes, and becomes 0 if it is
// put back.
func (e *Entity) take(r *Runtime, t *turn, env mailbox.Envelope, size *uint32) (o outcome, err error) {
	switch env.Call {
	case mailbox.ControlCall:
		return e.obey(r, t, env.Msg.(mailbox.Command), size)
	case mailbox.TimerCall:
		var over bool
		if env.Msg, over = e.extras().elapsedBy(env.Msg, r.Clock()); !over || e.body == nil {
			return emptied, nil // it was set by a New that has failed, if there is no incarnation
		}
	}
	if e.body == nil {
		if r.Spans != nil {
			follow(r.Spans, e, env)
		}
		if e.begin(r, t, ofNewFor); e.Extra.Load().awaits() {
			t.PutBack(env, *size)
			*size = 0
			return emptied, nil
		}
	}
	if err = e.receive(r, t, env); err != nil {
		return failed, err
	}
	return emptied, nil
}

// resumeElsewhere ends the turn of a worker whose goroutine a handler has ended.
func (r *Runtime) resumeElsewhere(e *Entity, t *turn, err error) {
	r.Pool.Go(func() {
		if e.supervise(r, t, err) {
			e.GiveBack()
			r.Pool.Submit(e)
		}
	})
}

func (e *Entity) receive(r *Runtime, t *turn, env mailbox.Envelope) error {
	if t.fresh && env.Call != mailbox.TimerCall {
		t.keep(e)
	}
	e.renew()
	op := spans.Receive
	if env.Call == mailbox.ReminderCall {
		var ok bool
		if env, ok = env.Msg.(*Reminder).take(e); !ok {
			return nil
		}
		op = spans.Remind
	}
	if r.Spans != nil {
		beginHandler(r.Spans, e, &env, op)
	}
	err := e.body.Receive(env)
	e.used(r, t, env)
	x := e.Extra.Load()
	if x != nil && err == nil {
		x.returned(ofMessage)
	}
	if err != nil || !x.awaits() {
		x.endMessage(err)
	}
	return err
}

// begin makes the incarnation.
func (e *Entity) begin(r *Runtime, t *turn, p part) {
	if t.fresh {
		t.keep(e)
	}
	e.body = r.NewBody(e)
	if e.Extra.Load().awaits() {
		e.Extra.Load().unfinished.part = p
	}
}

// used notes that a message has come to its end, however its handler fared: the entity is not idle.
func (e *Entity) used(r *Runtime, t *turn, env mailbox.Envelope) {
	if tick := r.IdleScan.Tick.Load(); t.seen != tick+1 && !env.Internal() {
		t.see(e, tick)
	}
	if x := e.Extra.Load(); x != nil && !env.Internal() {
		x.lastHandled.Store(int64(r.Clock()))
	}
}

// see notes the tick in which the entity is used.
func (t *turn) see(e *Entity, tick uint32) {
	t.seen = tick + 1
	e.mark.see(tick)
}

// obey carries a control envelope out. size becomes what the message counts that goes on.
func (e *Entity) obey(r *Runtime, t *turn, c mailbox.Command, size *uint32) (o outcome, err error) {
	switch c {
	case mailbox.StartNow:
		if e.body == nil {
			e.begin(r, t, ofNew)
			t.see(e, r.IdleScan.Tick.Load())
		}
	case mailbox.Continue:
		return e.proceed(r, t, size)
	case mailbox.StopNow:
		return stopped, nil
	}
	return emptied, nil
}

// stop ends the incarnation in order, and reports whether its Stop waits for a result. What is
// unfinished is not stopped: it is ended by force, or its Stop has been called.
func (e *Entity) stop() (awaits bool) {
	if e.body == nil || e.forsake() != ofNothing {
		return false
	}
	e.renew()
	e.stopBody()
	if awaits = e.Extra.Load().awaits(); awaits {
		e.Extra.Load().unfinished.part = ofStop
	}
	return awaits
}

// finish ends the incarnation, whatever of it is unfinished.
func (e *Entity) finish() {
	e.forsake()
	if e.body != nil {
		e.body.End()
		e.body = nil
	}
	e.Extra.Load().reset()
}

// stopBody calls the user's Stop. If that ends its goroutine, another one ends the turn of the
// worker.
func (e *Entity) stopBody() {
	r, returned := e.Shard.runtime, false
	defer func() {
		if returned {
			return
		}
		cause := recover()
		err := failure.OfRecovered(cause)
		if cause != nil {
			r.supervisor.notStopped(e, err)
			return
		}
		r.Pool.Go(func() {
			r.supervisor.notStopped(e, err)
			e.finish()
			e.end(r)
		})
	}()
	err := e.body.Stop()
	returned = true
	if err != nil {
		r.supervisor.notStopped(e, err)
	}
}

// reset takes back what belonged to the incarnation that has ended. x may be nil.
func (x *extra) reset() {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.timer != nil {
		x.timer.Stop()
	}
	x.cancelLife(failure.ErrStopped)
	x.life.Store(nil)
	x.timer, x.timeout, x.message, x.elapsed = nil, 0, nil, false
	x.endTimersLocked()
	x.Forced.Store(false)
}

// more takes what waits. When nothing does, the entity is idle and no longer the worker's.
func (e *Entity) more(t *turn) bool {
	if t.Taken() > 0 { // a failure came between
		return true
	}
	ok, rested := e.Refill(&t.Turn, e.Shard.runtime.set.MailboxMax)
	rested.Settled()
	return ok
}

// Pause holds the entity. A kill of the shard that found a worker here has left the mailbox to it.
func (e *Entity) Pause(why mailbox.HoldReason) {
	rested, schedule := e.Hold(why)
	rested.Settled()
	if schedule {
		e.Shard.runtime.Pool.Submit(e)
	}
	if e.Shard.isDead() {
		e.bury()
	}
}

// end tells the shard's machine that the incarnation is over. What waits is for the next one. The
// machine hears of the end before the id can be woken again, because only then is the entity
// taken out of the shard.
func (e *Entity) end(r *Runtime) {
	s := e.Shard
	e.Pause(mailbox.ForStart)
	if x := e.Extra.Load(); x != nil {
		x.Forced.Store(false) // since finish it may have been set again, from here on it cannot
		x.restarts.forget()
	}
	s.active.Add(-1)
	if s.Passivator != nil {
		s.Passivator.ended(e)
	}
	r.control.EntityStopped(s, e.ID)
	if !s.remove(e) && !r.set.Defects.Planted(defect.Unwoken) {
		r.control.Wake(s, e.ID)
	}
}

// bury hands what is left in the mailbox of a dead shard's entity to the shard's taker, unless a
// worker is about to.
func (e *Entity) bury() {
	if e.Shut(func(env mailbox.Envelope, size uint32) {
		e.released(size)
		if !env.Internal() && env.Call != mailbox.ReminderCall { // that is found again where the shard goes
			e.Shard.out(e, env, size)
		}
	}) {
		e.forsake()
		e.Extra.Load().reset()
	}
}
