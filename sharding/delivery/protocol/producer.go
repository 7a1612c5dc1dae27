package protocol

import (
	"container/heap"
	"time"
)

// Producer is the sending half, one per producer id. It numbers the messages of each entity, keeps
// them until the entity has confirmed them, sends as many as the entity's window allows, and sends
// again what got lost.
type Producer struct {
	cfg      ProducerConfig
	channels map[string]*channel
	waiting  schedule // something was sent and not confirmed
	idle     schedule // nothing is unconfirmed
	made     uint64   // channels
	held     int      // messages that are unconfirmed, staged ones too
	dirty    []*channel
	gaveUp   bool
	shelf    shelf
	stats    ProducerStats
	fx       Effects
}

// ProducerStats counts what a producer did.
type ProducerStats struct {
	Channels    int // entities that are known now
	Unconfirmed int // messages now
	Sent        uint64
	Resent      uint64 // of these, those that had been sent before
	Confirmed   uint64
	WindowFull  uint64 // messages that had to wait because the entity's window was full
	Timeouts    uint64 // of ResendFirst
	Moves       uint64 // of entities of which something was under way
	Busy        uint64 // entities had no room for this producer
	Unsent      uint64 // packets for which the connection had no room
	Stale       uint64 // acks that are about nothing that was sent
	CleanedUp   uint64 // channels
}

// NewProducer makes a producer, with what its durable queue holds: rows of earlier generations,
// which it sends again under their old numbers.
func NewProducer(now time.Time, cfg ProducerConfig, rows []Row) (*Producer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	p := &Producer{cfg: cfg.WithDefaults(), channels: map[string]*channel{}}
	if err := p.restore(now, rows); err != nil {
		return nil, err
	}
	return p, nil
}

// Stats counts.
func (p *Producer) Stats() ProducerStats {
	s := p.stats
	s.Channels, s.Unconfirmed = len(p.channels), p.held
	return s
}

// GaveUp reports whether a later producer of the same id was met: then nothing is sent any more.
func (p *Producer) GaveUp() bool { return p.gaveUp }

// Deadline is when a Tick is due; the zero time means never.
func (p *Producer) Deadline() time.Time {
	if p.gaveUp {
		return time.Time{}
	}
	d := p.shelf.deadline()
	for _, s := range [...]schedule{p.waiting, p.idle} {
		if len(s) > 0 && (d.IsZero() || s[0].deadline.Before(d)) {
			d = s[0].deadline
		}
	}
	return d
}

// Step takes one input.
func (p *Producer) Step(now time.Time, in ProducerInput) *Effects {
	p.fx.Store, p.fx.Send, p.fx.Done, p.fx.Freed = nil, p.fx.Send[:0], p.fx.Done[:0], p.fx.Freed[:0]
	switch in := in.(type) {
	case Submit:
		p.onSubmit(now, in)
	case Ack:
		p.onAck(now, in)
	case Stored:
		p.onStored(now, in)
	case Unsent:
		p.onUnsent(now, in)
	case Moved:
		p.onMoved(now, in)
	case Flush:
		p.flush(now)
	case Tick:
		p.onTick(now)
	}
	return &p.fx
}

func (p *Producer) onSubmit(now time.Time, in Submit) {
	switch {
	case p.gaveUp:
		p.refuse(in, GivenUp)
		return
	case p.held >= p.cfg.BufferMax:
		p.refuse(in, NoRoom)
		return
	}
	p.held++
	if p.cfg.Durable {
		p.shelf.staged = append(p.shelf.staged, in)
		return
	}
	c := p.channelOf(now, in.Entity)
	p.enqueue(c, in)
	c.ready = c.last
	p.accepted(in)
	p.touch(c)
}

func (p *Producer) refuse(in Submit, r Result) {
	p.fx.Done = append(p.fx.Done, Outcome{Op: in.Op, Result: r})
	p.fx.Freed = append(p.fx.Freed, len(in.Body))
}

// channelOf finds or makes the channel of an entity.
func (p *Producer) channelOf(now time.Time, entity string) *channel {
	if c := p.channels[entity]; c != nil {
		return c
	}
	for len(p.idle) >= p.cfg.ChannelsMax {
		p.cleanUp(p.idle[0])
	}
	p.made++
	c := &channel{entity: entity, session: Session{Generation: p.cfg.Generation, Channel: p.made}, window: 1}
	p.channels[entity] = c
	c.schedule(&p.idle, now.Add(p.cfg.CleanupUnused))
	return c
}

// cleanUp forgets a channel of which nothing is unconfirmed. Should the entity be sent to again,
// that is another session.
func (p *Producer) cleanUp(c *channel) {
	c.schedule(nil, time.Time{})
	delete(p.channels, c.entity)
	p.stats.CleanedUp++
}

// enqueue gives a message its number.
func (p *Producer) enqueue(c *channel, in Submit) {
	c.last++
	if c.in == &p.idle {
		c.schedule(nil, time.Time{}) // until it is sent
	}
	c.queue = append(c.queue, message{op: in.Op, body: in.Body, confirm: in.Confirm})
}

func (p *Producer) accepted(in Submit) {
	if !in.Confirm {
		p.fx.Done = append(p.fx.Done, Outcome{Op: in.Op, Result: Accepted})
	}
}

// touch has a channel looked at by the next flush.
func (p *Producer) touch(c *channel) {
	if !c.dirty {
		c.dirty = true
		p.dirty = append(p.dirty, c)
	}
}

// flush sends what the windows allow, and stores what waits for it.
func (p *Producer) flush(now time.Time) {
	for _, c := range p.dirty {
		c.dirty = false
		if !p.gaveUp {
			p.pump(now, c)
		}
	}
	clear(p.dirty)
	p.dirty = p.dirty[:0]
	if p.cfg.Durable && !p.gaveUp {
		p.store(now)
	}
}

// pump sends the messages of a channel that its window allows. The last one asks for an answer.
func (p *Producer) pump(now time.Time, c *channel) {
	first := len(p.fx.Send)
	for c.sent < c.ready && c.sent < c.confirmed+c.window {
		c.sent++
		p.stats.Sent++
		if c.sent <= c.top {
			p.stats.Resent++
		}
		c.top = max(c.top, c.sent)
		p.fx.Send = append(p.fx.Send, PacketSend{Entity: c.entity, Packet: Packet{
			Origin: p.cfg.Origin, Producer: p.cfg.ID, Session: c.session, Seq: c.sent,
			Base: c.confirmed + 1, Round: c.round,
			Body: c.queue[c.sent-c.confirmed-1].body,
		}})
	}
	if n := len(p.fx.Send); n > first {
		p.fx.Send[n-1].Packet.AckNow = true
	}
	if known := max(c.top, c.waited); known < c.ready {
		p.stats.WindowFull += c.ready - known
		c.waited = c.ready
	}
	if c.in != &p.waiting && c.sent > c.confirmed {
		c.schedule(&p.waiting, now.Add(p.cfg.ResendFirst))
	}
}

func (p *Producer) onUnsent(now time.Time, in Unsent) {
	p.stats.Unsent++
	c := p.channels[in.Entity]
	if c == nil || c.session != in.Session || c.in != &p.waiting {
		return
	}
	p.sooner(now, c)
}

// sooner brings the time at which the first message is sent again closer: the more rounds were in
// vain, the less.
func (p *Producer) sooner(now time.Time, c *channel) {
	if at := now.Add(c.pause(p.cfg.ResendFirst)); at.Before(c.deadline) {
		c.schedule(&p.waiting, at)
	}
}

func (p *Producer) onTick(now time.Time) {
	if p.gaveUp {
		return
	}
	for c := p.idle.due(now); c != nil; c = p.idle.due(now) {
		p.cleanUp(c)
	}
	for c := p.waiting.due(now); c != nil; c = p.waiting.due(now) {
		p.stats.Timeouts++
		p.sendFirstAgain(now, c)
	}
	p.flush(now)
}

// sendFirstAgain has the next flush send the first unconfirmed message of a channel, and that
// alone.
func (p *Producer) sendFirstAgain(now time.Time, c *channel) {
	c.goBack(c.confirmed)
	c.window = 1
	c.schedule(&p.waiting, now.Add(p.cfg.ResendFirst))
	p.touch(c)
}

// onMoved does at once what ResendFirst would do later. An entity that moves on and on, with
// nothing confirmed in between, is sent to after the growing pause.
func (p *Producer) onMoved(now time.Time, in Moved) {
	var moved []*channel // what follows changes the order of the waiting channels
	for _, c := range p.waiting {
		if in.Of(c.entity) {
			moved = append(moved, c)
		}
	}
	for _, c := range moved {
		p.stats.Moves++
		if c.fruitless > 0 {
			p.sooner(now, c)
		} else {
			p.sendFirstAgain(now, c)
		}
	}
}

var _ heap.Interface = (*schedule)(nil)
