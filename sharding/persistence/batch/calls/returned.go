package calls

import (
	"fmt"
	"time"

	"github.com/coterie-go/coterie/ddata/runloop/timer"
)

// succeeded ends the Ops of a call. Those of Fence may go.
func (m *Machine) succeeded(now time.Time, c *Call) {
	l, took := c.lane, now.Sub(c.began)
	m.fx.Finished = append(m.fx.Finished, Finished{Kind: c.Kind, Took: took, Did: m.stats.count(c)})
	for _, o := range c.Ops {
		if o.stage == called {
			m.finish(o, nil)
		}
	}
	l.tries, l.resumes = 0, time.Time{}
	if k := kinds[c.Kind]; k.write && k.many {
		l.gather.answered(now, took, len(c.Ops), l.queue.Len())
	}
	state := &m.health[l.store]
	state.unmark(l)
	if took >= m.cfg.SlowAfter {
		if state.wasSlow(now) {
			m.notice(Slow, c, took, nil)
		}
	} else if state.succeeded(now, m.cfg.SlowAfter) {
		m.notice(Back, c, took, nil)
	}
	if l.fence {
		l.fenced = true
		m.touchStore(now, l)
	}
}

// touchStore touches the lanes of a hosting whose store has answered Fence.
func (m *Machine) touchStore(now time.Time, fence *lane) {
	for _, l := range fence.hosting.lanes {
		if l != nil && l.store == fence.store {
			m.touch(now, l)
		}
	}
}

// failed has the Ops of a call tried again, after a pause.
func (m *Machine) failed(now time.Time, c *Call, err error) {
	l := c.lane
	m.stats.Failures++
	for _, o := range c.Ops {
		o.failed(err)
	}
	if h := l.hosting; h.ended != nil {
		m.endAll(c.Ops, h.ended)
		return
	}
	m.pause(now, c, err)
	l.putBack(c.Ops)
	if l.fence {
		l.hosting.blame(l.store, err)
	}
	m.expire(now, l)
}

// pause notes that a lane has failed, and has its next call wait.
func (m *Machine) pause(now time.Time, c *Call, err error) {
	l := c.lane
	if m.health[l.store].mark(l) {
		m.notice(Failing, c, now.Sub(c.began), err)
	}
	l.resumes = now.Add(timer.Backoff(m.cfg.RetryFirst, m.cfg.RetryMost, l.tries))
	l.tries++
}

// hopeless ends the only Op of a call, or has each of them tried alone. What waits for Fence ends
// with it.
func (m *Machine) hopeless(now time.Time, c *Call, err error) {
	l := c.lane
	h := l.hosting
	switch {
	case h.ended != nil || len(c.Ops) == 1:
		m.finishAll(c.Ops, err)
	case l.fence:
		m.pause(now, c, err)
		for _, other := range h.lanes {
			if other != nil && other.store == l.store {
				m.finishAll(other.drop(func(*Op) bool { return true }), fmt.Errorf("fence: %w", err))
				m.touch(now, other)
			}
		}
	default:
		for _, o := range c.Ops {
			o.alone, o.last = true, err
		}
		l.putBack(c.Ops)
		m.expire(now, l)
	}
}

// fencedOff ends a hosting because a later one has begun.
func (m *Machine) fencedOff(now time.Time, c *Call, err error) {
	h := c.lane.hosting
	m.endAll(c.Ops, err)
	if h.ended != nil {
		return
	}
	m.stats.Fenced++
	m.notice(LostFence, c, now.Sub(c.began), err)
	m.endHosting(now, h, err)
}
