package protocol

import (
	"slices"
	"time"
)

func (p *Producer) onAck(now time.Time, a Ack) {
	c := p.channels[a.Entity]
	if c == nil || c.session != a.Session || a.Confirmed > c.top || p.gaveUp {
		p.stats.Stale++
		return
	}
	switch a.Verdict {
	case Superseded:
		p.giveUp()
		return
	case Busy:
		p.stats.Busy++
		return
	}
	if a.Confirmed > c.confirmed {
		p.confirm(c, a.Confirmed)
		c.fruitless = 0
		p.rest(now, c)
	}
	c.window = max(1, uint64(a.Window))
	if a.Round == c.round {
		p.catchUp(now, c, a)
	}
	p.touch(c)
}

// catchUp follows what the consumer says about the present round: what it has need not be sent
// again, what it lacks must.
func (p *Producer) catchUp(now time.Time, c *channel, a Ack) {
	c.sent = max(c.sent, min(a.Expected-1, c.top))
	if a.Verdict != Gap || a.Expected > c.sent || a.Expected <= c.confirmed {
		return
	}
	if c.fruitless > 0 { // as before: a handler that fails, or a network that loses much
		p.sooner(now, c)
		return
	}
	c.goBack(a.Expected - 1)
}

// confirm lets go of everything up to seq.
func (p *Producer) confirm(c *channel, seq uint64) {
	n := int(seq - c.confirmed)
	for i := range c.queue[:n] {
		m := &c.queue[i]
		if m.confirm {
			p.fx.Done = append(p.fx.Done, Outcome{Op: m.op, Result: Confirmed})
		}
		p.fx.Freed = append(p.fx.Freed, len(m.body))
		if p.cfg.Durable {
			p.shelf.removed = append(p.shelf.removed, RowKey{Session: c.session, Seq: c.confirmed + uint64(i) + 1})
		}
		*m = message{}
	}
	c.queue = c.queue[n:]
	if len(c.queue) == 0 {
		c.queue = nil
	}
	c.confirmed, c.sent, c.top = seq, max(c.sent, seq), max(c.top, seq)
	p.held -= n
	p.stats.Confirmed += uint64(n)
}

// rest arms the channel's deadline after something was heard.
func (p *Producer) rest(now time.Time, c *channel) {
	switch {
	case c.settled():
		c.schedule(&p.idle, now.Add(p.cfg.CleanupUnused))
		for len(p.idle) > p.cfg.ChannelsMax {
			p.cleanUp(p.idle[0])
		}
	case c.sent > c.confirmed:
		c.schedule(&p.waiting, now.Add(p.cfg.ResendFirst))
	default:
		c.schedule(nil, time.Time{}) // until the next is stored, or sent by the flush that follows
	}
}

// giveUp ends everything: a later producer of this id has taken over.
func (p *Producer) giveUp() {
	p.gaveUp = true
	first := len(p.fx.Done)
	for _, c := range p.channels { // order: sorted below
		for _, m := range c.queue {
			p.fx.Freed = append(p.fx.Freed, len(m.body))
			if m.confirm {
				p.fx.Done = append(p.fx.Done, Outcome{Op: m.op, Result: GivenUp})
			}
		}
	}
	for _, s := range p.shelf.staged {
		p.refuse(s, GivenUp)
	}
	for _, s := range p.shelf.storing { // those that wait for the confirmation stand in their queue already
		if !s.Confirm {
			p.fx.Done = append(p.fx.Done, Outcome{Op: s.Op, Result: GivenUp})
		}
	}
	slices.SortFunc(p.fx.Done[first:], func(a, b Outcome) int { return int(int64(a.Op - b.Op)) })
	slices.Sort(p.fx.Freed)
	clear(p.channels)
	p.waiting, p.idle, p.dirty, p.held = nil, nil, nil, 0
	p.shelf = shelf{}
}
