package shard

import (
	"fmt"
	"time"

	"github.com/coterie-go/coterie/ddata/runloop/timer"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// The store of remembered ids may fail, or take its time. The shard waits and repeats for as long
// as it is open, and nothing is lost meanwhile: entities that run go on, those that wait to be
// remembered keep their messages, and what comes joins the next write.

// slowAfter starts the clock of a read or a write.
func (sr *store) slowAfter() { sr.lateAt = sr.now.Add(protocol.SlowAfter) }

// works says that the store has answered well. Another read or write may still be under way.
func (sr *store) works() {
	sr.tries = 0
	sr.lateAt = time.Time{}
	if sr.read != 0 || sr.write.ID != 0 && !sr.failed {
		sr.slowAfter()
	}
	if sr.failure && !sr.failed && !sr.unread {
		sr.failure, sr.silent = false, false
		sr.notify(protocol.Event{Kind: protocol.RememberResumed})
	}
}

// maybeLate reports a read or a write that has had no answer for long.
func (sr *store) maybeLate() {
	if sr.lateAt.IsZero() || sr.now.Before(sr.lateAt) {
		return
	}
	sr.lateAt = time.Time{}
	what := "read of " + protocol.StateKey(sr.cfg.Name, protocol.StateIDs, sr.id)
	if sr.read == 0 {
		what = "write of " + sr.write.Key(sr.cfg.Name)
	}
	if !sr.failure {
		sr.silent = true
		sr.fails(fmt.Sprintf("%s: no answer for %v", what, protocol.SlowAfter))
	}
}

// fails tells what keeps the shard from its ids.
func (sr *store) fails(why string) {
	sr.failure = true
	sr.notify(protocol.Event{Kind: protocol.RememberFailed, Count: sr.entities.changing, Text: why})
}

// retryLater has what failed repeated after an eighth of RetryInterval, then after twice as long
// each time, up to RetryInterval.
func (sr *store) retryLater(err error) {
	if !sr.failure || sr.silent { // once, and once more if only silence was told
		sr.silent = false
		sr.fails(err.Error())
	}
	if sr.read == 0 && (sr.write.ID == 0 || sr.failed) {
		sr.lateAt = time.Time{} // nothing is under way
	}
	if sr.retryAt.IsZero() {
		most := sr.cfg.Coordination.RetryInterval
		sr.retryAt = sr.now.Add(timer.Backoff(most/8, most, sr.tries))
		sr.tries++
	}
}

// retry repeats what failed, under a new ID: the old one may still complete and says nothing
// any more.
func (sr *store) retry() {
	if sr.retryAt.IsZero() || sr.now.Before(sr.retryAt) {
		return
	}
	sr.retryAt = time.Time{}
	if sr.unread {
		sr.unread = false
		if sr.phase < shardStopping {
			sr.load()
		}
	}
	if sr.failed {
		sr.failed = false
		sr.ids++
		sr.write.ID = sr.ids
		sr.write.Failed++
		sr.slowAfter()
		sr.fx.Write = append(sr.fx.Write, sr.write)
	}
}
