package calls

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/ddata/runloop/timer"
	"github.com/coterie-go/coterie/replicator/fifo"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Machine decides which calls are made. It is single-threaded.
//
// Invariants: held and heldBytes count the Ops that are not done; running counts the calls under
// way; a lane that is ready stands in line once. No hosting is at or below the ended token of its
// shard, unless calls of it are under way.
type Machine struct {
	cfg    Settings
	stores [ports]int // the number of the store of each port; -1: there is none

	hostings map[Hosting]*hosting
	ended    map[protocol.ShardID]singleton.FencingToken // the highest one of each shard
	latest   map[protocol.ShardID]Hosting                // the one with the highest token
	line     fifo.Queue[*lane]
	alarms   alarms
	health   [ports]health // by store

	running         int
	held, heldBytes int
	closed          bool
	stats           Stats
	seen            map[protocol.EntityID]bool // empty between steps
	freed           []*lane                    // in this step: lanes where an Op may go now; empty between steps
	fx              Effects
}

// New makes a Machine. The settings are valid. Ports whose stores have the same number share a
// fence; numbers are 0, 1 and 2, and -1 for no store.
func New(cfg Settings, stores [3]int) *Machine {
	return &Machine{
		cfg: cfg.WithDefaults(), stores: stores, hostings: map[Hosting]*hosting{},
		ended: map[protocol.ShardID]singleton.FencingToken{}, latest: map[protocol.ShardID]Hosting{},
		seen: map[protocol.EntityID]bool{},
	}
}

// Stats returns what was counted.
func (m *Machine) Stats() Stats {
	s := m.stats
	s.Hostings, s.Waiting, s.WaitingBytes, s.InFlight = len(m.hostings), m.held, m.heldBytes, m.running
	return s
}

// Deadline is when a Tick is wanted; zero: never.
func (m *Machine) Deadline() time.Time {
	if len(m.alarms) == 0 {
		return time.Time{}
	}
	return m.alarms[0].alarm
}

// Step takes one input. The effects are valid until the next step.
func (m *Machine) Step(now time.Time, in Input) *Effects {
	m.fx.reset()
	switch in := in.(type) {
	case Submit:
		m.onSubmit(now, in.Op)
	case Returned:
		m.onReturned(now, in)
	case End:
		m.onEnd(now, in.Hosting)
	case Close:
		m.onClose(now)
	case Flush:
		m.onFlush(now)
	case Tick:
		m.onTick(now)
	}
	for _, l := range m.freed {
		m.touch(now, l)
	}
	clear(m.freed)
	m.freed = m.freed[:0]
	for i := range m.fx.Done {
		d := &m.fx.Done[i]
		d.Took = now.Sub(d.Op.asked(&m.cfg))
	}
	return &m.fx
}

func (m *Machine) onSubmit(now time.Time, o *Op) {
	m.held, m.heldBytes = m.held+1, m.heldBytes+o.Bytes
	o.until = now.Add(m.cfg.GiveUpAfter)
	store := m.stores[o.Kind.Port()]
	last, someEnded := m.ended[o.Hosting.Shard]
	switch {
	case m.closed:
		m.finish(o, ErrClosed)
	case store < 0:
		m.finish(o, fmt.Errorf("%w: %v", ErrNoStore, o.Kind.Port()))
	case someEnded && !last.Less(o.Hosting.Token) || o.Hosting.Token.Less(m.latest[o.Hosting.Shard].Token):
		m.finish(o, ErrEnded)
	case m.held > m.cfg.WaitingMax || m.heldBytes > m.cfg.WaitingBytes && m.held > 1:
		m.stats.Full++
		m.finish(o, ErrBufferFull)
	default:
		h := m.hosting(now, o.Hosting)
		if h.ended != nil {
			m.finish(o, h.ended)
			return
		}
		l, fence := h.lane(int(o.Kind), store), h.lane(fenceLane+store, store)
		h.follow(o, l)
		l.push(o)
		m.touch(now, l)
		if !fence.fenced {
			m.touch(now, fence)
		}
	}
}

// hosting finds a hosting, or begins it. Those of the shard before it have ended then.
func (m *Machine) hosting(now time.Time, id Hosting) *hosting {
	h := m.hostings[id]
	if h == nil {
		if before, some := m.latest[id.Shard]; some {
			m.onEnd(now, before)
		}
		h = &hosting{id: id}
		m.hostings[id], m.latest[id.Shard] = h, id
	}
	return h
}

// touch puts a lane into the line if its next call may begin, and sets its alarm.
func (m *Machine) touch(now time.Time, l *lane) {
	at := l.nextAlarm(&m.cfg)
	if starts, ok := l.startAt(&m.cfg); ok && !now.Before(starts) {
		if !l.ready {
			l.ready = true
			m.line.Push(l)
		}
	} else if ok {
		at = timer.Earliest(at, starts)
	}
	if l.failing && l.call == nil && l.queue.Len() == 0 && (!l.fence || l.hosting.waiting[l.store] == 0) {
		m.health[l.store].unmark(l)
	}
	m.alarms.set(l, at)
}

// onFlush begins the calls for which there is room, in the order in which their lanes have come.
func (m *Machine) onFlush(now time.Time) {
	for m.running < m.cfg.InFlightMax && m.line.Len() > 0 {
		l := m.line.Items()[0]
		m.line.Pop(1)
		l.ready = false
		if at, ok := l.startAt(&m.cfg); ok && !now.Before(at) {
			m.begin(now, l)
		}
		m.touch(now, l)
	}
}

func (m *Machine) begin(now time.Time, l *lane) {
	c := &Call{Hosting: l.hosting.id, Kind: Fence, Store: l.store, lane: l, began: now}
	if !l.fence {
		l.gather.begins(l.queue.Len())
		c.Ops = l.take(&m.cfg, m.seen)
		clear(m.seen)
		c.Kind = c.Ops[0].Kind
		c.wait()
	}
	l.call = c
	l.hosting.running++
	m.running++
	m.fx.Start = append(m.fx.Start, c)
}

func (m *Machine) onReturned(now time.Time, r Returned) {
	c := r.Call
	l := c.lane
	h := l.hosting
	l.call = nil
	h.running--
	m.running--
	for _, s := range r.Settled {
		if o := c.Ops[s.Index]; o.stage == called {
			m.finish(o, s.Err)
		}
	}
	switch r.Outcome {
	case Succeeded:
		m.succeeded(now, c)
	case Unknown:
		m.failed(now, c, r.Err)
	case Hopeless:
		m.hopeless(now, c, r.Err)
	case Fenced:
		m.fencedOff(now, c, r.Err)
	}
	m.touch(now, l)
	m.maybeForget(h)
}

func (m *Machine) endHosting(now time.Time, h *hosting, why error) {
	h.ended = why
	for _, l := range h.lanes {
		if l != nil {
			m.endAll(l.drop(func(*Op) bool { return true }), why)
			m.touch(now, l)
		}
	}
}

// endAll finishes Ops of a hosting that has ended.
func (m *Machine) endAll(ops []*Op, why error) {
	for _, o := range ops {
		if o.stage != over {
			m.finish(o, o.endedBy(why))
		}
	}
}

// onEnd ends a hosting, and the one before it if that still goes on.
func (m *Machine) onEnd(now time.Time, id Hosting) {
	if last, ok := m.ended[id.Shard]; !ok || last.Less(id.Token) {
		m.ended[id.Shard] = id.Token
	}
	for _, e := range [...]Hosting{id, m.latest[id.Shard]} {
		if h := m.hostings[e]; h != nil && e.Shard == id.Shard && !id.Token.Less(e.Token) {
			if h.ended == nil {
				m.endHosting(now, h, ErrEnded)
			}
			m.maybeForget(h)
		}
	}
}

// maybeForget lets a hosting go that End was called for, when its last call has returned.
func (m *Machine) maybeForget(h *hosting) {
	if last, ok := m.ended[h.id.Shard]; !ok || last.Less(h.id.Token) || h.ended == nil || h.running > 0 {
		return
	}
	for _, l := range h.lanes {
		if l != nil {
			m.health[l.store].unmark(l)
			m.alarms.set(l, time.Time{})
		}
	}
	delete(m.hostings, h.id)
}

// onClose ends everything at once. A call that returns later is about nothing any more.
func (m *Machine) onClose(now time.Time) {
	m.closed = true
	for _, id := range slices.SortedFunc(maps.Keys(m.hostings), Hosting.compare) {
		h := m.hostings[id]
		for _, l := range h.lanes {
			if l != nil && l.call != nil {
				m.finishAll(l.call.Ops, ErrClosed)
			}
		}
		if h.ended == nil {
			m.endHosting(now, h, ErrClosed)
		}
	}
}

func (m *Machine) onTick(now time.Time) {
	for l := m.alarms.due(now); l != nil; l = m.alarms.due(now) {
		m.expire(now, l)
		m.watch(now, l)
		m.touch(now, l)
	}
}

// expire gives up what has waited for too long.
func (m *Machine) expire(now time.Time, l *lane) {
	for _, o := range l.drop(func(o *Op) bool { return !now.Before(o.until) }) {
		m.giveUp(o)
	}
}

func (m *Machine) giveUp(o *Op) {
	m.stats.GivenUp++
	if o.last == nil {
		m.finish(o, fmt.Errorf("%w after %v: no answer", ErrGaveUp, m.cfg.GiveUpAfter))
	} else {
		m.finish(o, fmt.Errorf("%w after %v: %w", ErrGaveUp, m.cfg.GiveUpAfter, o.last))
	}
}

// watch tells of a call that takes long, and gives up what has waited for too long in it.
func (m *Machine) watch(now time.Time, l *lane) {
	c := l.call
	if c == nil {
		return
	}
	took := now.Sub(c.began)
	if !c.slow && took >= m.cfg.SlowAfter {
		c.slow = true
		if m.health[l.store].wasSlow(now) {
			m.notice(Slow, c, took, nil)
		}
	}
	if !c.hangs && took >= m.cfg.CallTimeout+HangAfter {
		c.hangs = true
		m.health[l.store].mark(l) // the notice says more
		m.notice(Hangs, c, took, nil)
	}
	if c.until.IsZero() || now.Before(c.until) {
		return
	}
	for _, o := range c.Ops {
		if o.stage == called && !now.Before(o.until) {
			m.giveUp(o)
		}
	}
	c.wait()
}

func (m *Machine) notice(k NoticeKind, c *Call, took time.Duration, err error) {
	m.fx.Notices = append(m.fx.Notices, Notice{Kind: k, Call: c, Took: took, Err: err})
}

func (m *Machine) finishAll(ops []*Op, err error) {
	for _, o := range ops {
		if o.stage != over {
			m.finish(o, err)
		}
	}
}

func (m *Machine) finish(o *Op, err error) {
	o.stage, o.after = over, nil
	if o.frees != nil {
		m.freed = append(m.freed, o.frees)
	}
	m.held, m.heldBytes = m.held-1, m.heldBytes-o.Bytes
	m.fx.Done = append(m.fx.Done, Done{Op: o, Err: err})
}
