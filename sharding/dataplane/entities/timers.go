package entities

import (
	"time"

	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
)

// TimersMax is how many Timers of one incarnation run at a time.
const TimersMax = 1 << 16

// timerRetry is the pause after which a Timer tries again to put its message into a full mailbox.
const timerRetry = 100 * time.Millisecond

// Timer is a message that waits for its time. Any goroutine may use it.
type Timer struct {
	entity *Entity
	msg    any
	timer  scheduler.Timer // under extra.mu
}

// NewTimer has msg handled by the incarnation at hand when d has passed. nil: too many wait.
func NewTimer(e *Entity, d time.Duration, msg any) *Timer {
	x := e.extras()
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.timers) >= TimersMax {
		return nil
	}
	if x.timers == nil {
		x.timers = map[*Timer]struct{}{}
	}
	t := &Timer{entity: e, msg: msg}
	x.timers[t] = struct{}{}
	t.timer = e.Shard.runtime.set.Scheduler.AfterFunc(d, t.elapse)
	return t
}

// elapse puts the message into the mailbox. While that is full, or takes nothing because the shard
// is about to move, it tries again.
func (t *Timer) elapse() {
	x := t.entity.extras()
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, waits := x.timers[t]; !waits {
		return
	}
	switch t.entity.Accept(mailbox.Envelope{Msg: t, Call: mailbox.TimerCall}, 0) {
	case mailbox.Accepted, mailbox.Gone:
	default:
		t.timer.Reset(timerRetry)
	}
}

// Stop ends the wait. It reports whether it did: false says that the message was handled, or is at
// hand, or that the incarnation has ended.
func (t *Timer) Stop() bool { return t.entity.extras().unlist(t) }

// unlist takes a Timer out, and reports whether it still waited.
func (x *extra) unlist(t *Timer) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, waits := x.timers[t]; !waits {
		return false
	}
	delete(x.timers, t)
	t.timer.Stop()
	return true
}

// elapsedBy is the message of a time that has come, of a Timer or of the receive timeout, if that
// still waits for it. A Timer's puts the receive timeout off, and is no activity for passivation.
func (x *extra) elapsedBy(what any, now time.Duration) (msg any, ok bool) {
	t, is := what.(*Timer)
	switch {
	case !is:
		return x.timedOut(now)
	case !x.unlist(t):
		return nil, false
	}
	x.lastHandled.Store(int64(now))
	return t.msg, true
}

// endTimersLocked ends all of an incarnation. The caller has x.mu.
func (x *extra) endTimersLocked() {
	for t := range x.timers { // order: each is stopped
		t.timer.Stop()
	}
	x.timers = nil
}
