package postgres

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// joint makes one transaction of calls of Append that come at one time, of different shards: a
// transaction costs more than a row. A call that finds none under way begins one. Those that come
// meanwhile wait for the next one, which has all of them, or begin one beside it when they are many. No
// goroutine is needed: the first call of a transaction makes it for the others.
//
// Callers that were answered together call again together, a little later. Without more, those that
// waited would go without them, and there would be two groups that wait for one another. So a transaction
// waits for as many calls as were there before, at most a part of what the last one took. A caller that
// is alone never waits.
//
// It is there to be fast, and decides nothing. A call that it does not answer is made alone, with the
// same IDs: so it is if its shard is locked, or if the transaction has failed, because of whichever call.
type joint struct {
	pool     *pgxpool.Pool
	appender appender

	mu      sync.Mutex
	running int // transactions under way
	waiting []*joined
	events  int           // of what waits
	callers int           // of the last transaction, with those that waited when it ended
	took    time.Duration // by the last transaction
	full    chan struct{} // closed when as many are there; nil: no call waits for that
}

const (
	jointMax    = 4                      // transactions under way at one time
	jointMany   = 256                    // events that wait, and begin a transaction beside another one
	jointEvents = 4096                   // events in one; the last call may bring more
	jointBytes  = 4 << 20                // of bodies in one, likewise
	jointWait   = 100 * time.Millisecond // for a transaction that collides; then each call goes alone
	gatherPart  = 2                      // of what the last transaction took: how long one waits for calls
)

// joined is a call that waits for a transaction, or is in one.
type joined struct {
	ctx    context.Context
	h      persistence.Hosting
	writes []persistence.Write
	part   []int         // those to append
	events int           // in them
	bytes  int           // of their bodies
	turn   chan struct{} // holds one element: the call is answered, or leads the next transaction

	leads     bool // guarded by joint.mu
	ok        bool // it is answered; and how
	entered   *int64
	conflicts []int32 // the numbers in the part, from 1, of what does not fit
	lost      error   // it is not answered, and may have been carried out
}

func newJoined(ctx context.Context, h persistence.Hosting, writes []persistence.Write, part []int) *joined {
	m := &joined{ctx: ctx, h: h, writes: writes, part: part, turn: make(chan struct{}, 1)}
	for _, i := range part {
		m.events += len(writes[i].Events)
		for _, e := range writes[i].Events {
			m.bytes += len(e.Body)
		}
	}
	return m
}

// append makes a call, together with others, and returns how it was answered, or that it was not: then it
// has to be made alone.
func (j *joint) append(
	ctx context.Context, h persistence.Hosting, writes []persistence.Write, part []int,
) *joined {
	m := newJoined(ctx, h, writes, part)
	if !j.begins(m) {
		select {
		case <-m.turn:
		case <-ctx.Done():
			if j.leave(m) {
				return m
			}
			<-m.turn // its transaction ends soon, as its context has
		}
	}
	if m.leads {
		j.run(m)
	}
	return m
}

// begins reports whether a call leads a transaction at once. If not, it waits.
func (j *joint) begins(m *joined) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.running == 0 || j.running < jointMax && j.events+m.events >= jointMany {
		j.running++
		m.leads = true
		return true
	}
	j.waiting = append(j.waiting, m)
	j.events += m.events
	if 1+len(j.waiting) >= j.callers {
		j.fullLocked()
	}
	return false
}

// fullLocked ends the waiting for more calls.
func (j *joint) fullLocked() {
	if j.full != nil {
		close(j.full)
		j.full = nil
	}
}

// leave reports whether a call still waited, and waits no longer.
func (j *joint) leave(m *joined) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	i := slices.Index(j.waiting, m)
	if i >= 0 {
		j.removeLocked(i)
	}
	return i >= 0
}

func (j *joint) removeLocked(i int) {
	j.events -= j.waiting[i].events
	j.waiting = slices.Delete(j.waiting, i, i+1)
}

// take returns the calls of a transaction that m makes: m, and those that wait and have another
// shard than all before them.
func (j *joint) take(m *joined) []*joined {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.fullLocked()
	type place struct {
		typ   string
		shard protocol.ShardID
	}
	group, places := []*joined{m}, map[place]bool{{m.h.Type, m.h.Shard}: true}
	events, bytes := m.events, m.bytes
	rest := j.waiting[:0]
	for _, o := range j.waiting {
		at := place{o.h.Type, o.h.Shard}
		if places[at] || events >= jointEvents || bytes >= jointBytes {
			rest = append(rest, o)
			continue
		}
		places[at] = true
		group = append(group, o)
		events, bytes = events+o.events, bytes+o.bytes
		j.events -= o.events
	}
	clear(j.waiting[len(rest):])
	j.waiting = rest
	return group
}

// run makes a transaction of a call and those that wait, lets the next one begin, and tells the calls.
func (j *joint) run(m *joined) {
	j.gather(m)
	group := j.take(m)
	began := time.Now()
	defer func() { j.ran(group, time.Since(began)) }()
	j.transact(group)
}

// gather waits until as many calls are there as are expected, for a part of what a transaction takes.
func (j *joint) gather(m *joined) {
	full, most := j.expect()
	if full == nil {
		return
	}
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case <-full:
	case <-t.C:
	case <-m.ctx.Done():
	}
}

// expect returns what is closed when the calls are there, and how long to wait for that. It returns nil
// if they are, or if another transaction is under way.
func (j *joint) expect() (full chan struct{}, most time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.running > 1 || 1+len(j.waiting) >= j.callers {
		return nil, 0
	}
	j.full = make(chan struct{})
	return j.full, j.took / gatherPart
}

// ran lets the next transaction begin, and tells the calls of the last one.
func (j *joint) ran(group []*joined, took time.Duration) {
	j.mu.Lock()
	j.callers, j.took = len(group)+len(j.waiting), took
	if len(j.waiting) > 0 {
		next := j.waiting[0]
		j.removeLocked(0)
		next.leads = true
		next.turn <- struct{}{}
	} else {
		j.running--
	}
	j.mu.Unlock()
	for _, m := range group[1:] {
		m.turn <- struct{}{}
	}
}

// transact makes the statement of a group. It ends when the context of any of its calls does: the memory
// of that call is its caller's then.
func (j *joint) transact(group []*joined) {
	ctx, cancel := context.WithCancel(group[0].ctx)
	defer cancel()
	for _, m := range group[1:] {
		defer context.AfterFunc(m.ctx, cancel)()
	}
	columns, writes := jointColumns(group)
	defer columns.free()
	how := appendHow{wait: int32(jointWait.Milliseconds()), joint: true}
	entered, conflicts, err := j.appender.append(ctx, pooled{j.pool}, columns, how)
	if err == nil && len(entered) != len(group) {
		err = fmt.Errorf("the server has answered %d of %d calls", len(entered), len(group))
	}
	if err != nil {
		if codeOf(err) == "" && !pgconn.SafeToRetry(err) { // no word of the server, which may have it
			for _, m := range group {
				m.lost = err
			}
		}
		return
	}
	for i, m := range group {
		m.entered, m.ok = entered[i], entered[i] == nil || *entered[i] != lockedElsewhere
	}
	for _, n := range conflicts {
		w := writes[n-1]
		w.of.conflicts = append(w.of.conflicts, w.n)
	}
}

// lockedElsewhere is the answer for a shard that another call has locked.
const lockedElsewhere = -2

// jointWrite is a write in a joint statement: number n of a call, from 1.
type jointWrite struct {
	of *joined
	n  int32
}

// jointColumns are what a joint statement appends, and the writes in their order.
func jointColumns(group []*joined) (c *appendColumns, writes []jointWrite) {
	c = newAppendColumns()
	for _, m := range group {
		c.add(m.h, m.writes, m.part)
		for n := range m.part {
			writes = append(writes, jointWrite{m, int32(n + 1)})
		}
	}
	return c, writes
}
