package protocol

import "fmt"

// check panics when an invariant is broken. Tests call it after every step.
func (p *Producer) check() {
	held := len(p.shelf.staged)
	for _, c := range p.channels { // order: it only counts, and any of the faults will do
		held += len(c.queue)
		ordered := c.confirmed <= c.sent && c.sent <= c.top && c.top <= c.ready && c.ready <= c.last
		switch {
		case !ordered || uint64(len(c.queue)) != c.last-c.confirmed:
			panic(fmt.Sprintf("delivery: %s: confirmed %d, sent %d, top %d, ready %d, last %d, %d in queue",
				c.entity, c.confirmed, c.sent, c.top, c.ready, c.last, len(c.queue)))
		case c.settled() != (c.in == &p.idle):
			panic(fmt.Sprintf("delivery: %s is settled: %v, and stands among the idle: %v",
				c.entity, c.settled(), c.in == &p.idle))
		case c.sent > c.confirmed && c.in != &p.waiting && !c.dirty:
			panic(fmt.Sprintf("delivery: %s has messages sent and unconfirmed, and no resend is due", c.entity))
		case c.ready > c.confirmed && c.sent == c.confirmed && !c.dirty:
			panic(fmt.Sprintf("delivery: %s has messages ready, and no send is due", c.entity))
		}
	}
	if held != p.held {
		panic(fmt.Sprintf("delivery: %d messages are held, and counted %d", held, p.held))
	}
	if len(p.idle) > p.cfg.ChannelsMax {
		panic("delivery: too many channels")
	}
}

// check panics when an invariant is broken. Tests call it after every step.
func (c *Consumer) check() {
	sum := 0
	for i, f := range c.order {
		sum += len(f.buffer)
		switch {
		case f.place != i || c.flows[f.producer] != f:
			panic(fmt.Sprintf("delivery: %s is out of place", f.producer))
		case f.handled >= f.expected:
			panic(fmt.Sprintf("delivery: %s handled %d, expected %d", f.producer, f.handled, f.expected))
		case len(f.buffer) > 0 && f.handling == 0:
			panic(fmt.Sprintf("delivery: %s waits for nothing", f.producer))
		}
	}
	if sum != c.buffered || len(c.order) != len(c.flows) || len(c.order) > c.cfg.ProducersMax ||
		c.buffered > c.cfg.BufferMax {
		panic("delivery: a consumer has lost count")
	}
}
