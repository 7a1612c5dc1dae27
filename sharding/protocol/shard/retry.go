package shard

import (
	"fmt"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// The store of remembered ids may fail, or take its time. The shard waits and repeats for as long
// as it is open, and nothing is lost meanwhile: entities that run go on, those that wait to be
// remembered keep their messages, and what comes joins the next write.

// slowAfter starts the clock of a read or a write.
func (s *Shard) slowAfter() { s.store.lateAt = s.now.Add(protocol.SlowAfter) }

// works says that the store has answered well. Another read or write may still be under way.
func (s *Shard) works() {
	st := &s.store
	st.backoff = 0
	st.lateAt = time.Time{}
	if st.read != 0 || st.write.ID != 0 && !st.failed {
		s.slowAfter()
	}
	if st.failure && !st.failed && !st.unread {
		st.failure, st.silent = false, false
		s.notify(protocol.Event{Kind: protocol.RememberResumed})
	}
}

// maybeLate reports a read or a write that has had no answer for long.
func (s *Shard) maybeLate() {
	st := &s.store
	if st.lateAt.IsZero() || s.now.Before(st.lateAt) {
		return
	}
	st.lateAt = time.Time{}
	what := "read of " + protocol.StateKey(s.cfg.Type, protocol.StateIDs, s.id)
	if st.read == 0 {
		what = "write of " + st.write.Key(s.cfg.Type)
	}
	if !st.failure {
		st.silent = true
		s.storeFails(fmt.Sprintf("%s: no answer for %v", what, protocol.SlowAfter))
	}
}

// storeFails tells what keeps the shard from its ids.
func (s *Shard) storeFails(why string) {
	s.store.failure = true
	s.notify(protocol.Event{Kind: protocol.RememberFailed, Count: s.changing, Text: why})
}

// retryLater has what failed repeated after an eighth of RetryInterval, then after twice as long
// each time, up to RetryInterval.
func (s *Shard) retryLater(err error) {
	st := &s.store
	if !st.failure || st.silent { // once, and once more if only silence was told
		st.silent = false
		s.storeFails(err.Error())
	}
	if st.read == 0 && (st.write.ID == 0 || st.failed) {
		st.lateAt = time.Time{} // nothing is under way
	}
	if st.retryAt.IsZero() {
		st.backoff = min(max(2*st.backoff, s.cfg.RetryInterval/8), s.cfg.RetryInterval)
		st.retryAt = s.now.Add(st.backoff)
	}
}

// retryStore repeats what failed, under a new ID: the old one may still complete and says nothing
// any more.
func (s *Shard) retryStore() {
	st := &s.store
	if st.retryAt.IsZero() || s.now.Before(st.retryAt) {
		return
	}
	st.retryAt = time.Time{}
	s.counts[protocol.CountRetries]++
	if st.unread {
		st.unread = false
		if s.phase < shardStopping {
			s.load()
		}
	}
	if st.failed {
		st.failed = false
		st.ids++
		st.write.ID = st.ids
		st.write.Failed++
		s.slowAfter()
		s.fx.Write = append(s.fx.Write, st.write)
	}
}
