package protocol

import (
	"fmt"
	"slices"
	"time"
)

// shelf is what a durable producer has on its way to its queue. One batch is under way at a time,
// so that a failure leaves no hole between numbers.
type shelf struct {
	staged   []Submit  // have no number yet
	busy     bool      // a batch is under way
	storing  []Submit  // of it
	removed  []RowKey  // were confirmed, and are in the queue
	removing int       // of removed, in the batch
	since    time.Time // removals wait from here on; zero: none do
	retryAt  time.Time // after a failure
	wake     time.Time // when removals shall go by themselves; zero: nothing waits
}

func (s *shelf) deadline() time.Time { return s.wake }

// store makes a batch of all that waits, unless one is under way. Removals alone let some time
// pass, for a message to go with.
func (p *Producer) store(now time.Time) {
	s := &p.shelf
	s.wake = time.Time{}
	if s.busy || len(s.staged) == 0 && len(s.removed) == 0 {
		return
	}
	if len(s.staged) == 0 {
		if s.since.IsZero() {
			s.since = now
		}
		at := s.since.Add(p.cfg.StoreRetry)
		if s.retryAt.After(at) {
			at = s.retryAt
		}
		if at.After(now) {
			s.wake = at
			return
		}
	}
	batch := &Batch{Remove: slices.Clone(s.removed)}
	for _, in := range s.staged {
		c := p.channelOf(now, in.Entity)
		p.enqueue(c, in)
		batch.Add = append(batch.Add, Row{
			RowKey: RowKey{Session: c.session, Seq: c.last}, Entity: in.Entity, Body: in.Body,
		})
	}
	s.storing, s.staged, s.removing, s.busy, s.since = s.staged, nil, len(s.removed), true, time.Time{}
	p.fx.Store = batch
}

func (p *Producer) onStored(now time.Time, in Stored) {
	s := &p.shelf
	if !s.busy {
		return
	}
	stored := s.storing
	s.busy, s.storing = false, nil
	if in.Err == nil {
		s.removed = slices.Delete(s.removed, 0, s.removing)
		for _, m := range stored {
			c := p.channels[m.Entity]
			c.ready++
			p.accepted(m)
			p.touch(c)
		}
		return
	}
	s.retryAt = now.Add(p.cfg.StoreRetry)
	for _, m := range slices.Backward(stored) {
		p.takeBack(now, m, in.Err)
	}
}

// takeBack undoes enqueue for a message that could not be stored.
func (p *Producer) takeBack(now time.Time, m Submit, err error) {
	c := p.channels[m.Entity]
	c.last--
	c.queue[len(c.queue)-1] = message{}
	c.queue = c.queue[:len(c.queue)-1]
	p.held--
	p.fx.Done = append(p.fx.Done, Outcome{Op: m.Op, Result: NotStored, Err: err})
	p.fx.Freed = append(p.fx.Freed, len(m.Body))
	if c.settled() {
		p.rest(now, c)
	}
}

// restore begins with what the queue of an earlier start holds. Of an entity only the latest
// session counts: an earlier one was confirmed whole before.
func (p *Producer) restore(now time.Time, rows []Row) error {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b Row) int {
		if d := a.Session.Compare(b.Session); d != 0 {
			return d
		}
		return int(int64(a.Seq - b.Seq))
	})
	for _, r := range rows {
		if r.Session.Generation >= p.cfg.Generation || r.Seq == 0 || r.Entity == "" {
			return fmt.Errorf("stored message %v #%d does not precede generation %d",
				r.Session, r.Seq, p.cfg.Generation)
		}
		c := p.channels[r.Entity]
		if c != nil && c.session != r.Session {
			p.confirm(c, c.last)
			c.schedule(nil, time.Time{})
			c = nil
		}
		if c == nil {
			c = &channel{
				entity: r.Entity, session: r.Session, window: 1, confirmed: r.Seq - 1, sent: r.Seq - 1,
				top: r.Seq - 1, last: r.Seq - 1,
			}
			p.channels[r.Entity] = c
		}
		if r.Seq != c.last+1 {
			return fmt.Errorf("stored messages %v #%d to #%d are missing", r.Session, c.last+1, r.Seq-1)
		}
		c.last, c.ready, c.top = r.Seq, r.Seq, r.Seq // the earlier process may have sent it
		c.queue = append(c.queue, message{body: r.Body})
		p.held++
		p.touch(c)
	}
	return nil
}
