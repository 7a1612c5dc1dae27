package delivered

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/workload"
	"github.com/coterie-go/coterie/sharding/delivery"
)

// waitMost is how long a client waits for a producer.
const waitMost = 10 * time.Second

// send sends one note after another, by the producer of any process, until the world has healed.
func (e *Entities) send() {
	if e.w.Healed() {
		return
	}
	p := workload.Client(e.w, e.rng, e.opt.Gap, e.send)
	if p == nil {
		return
	}
	id, delivers := strconv.Itoa(e.rng.IntN(e.opt.Entities)), e.rng.IntN(2) == 0
	if x := e.producers[p.UID()]; x != nil && p.Usable() {
		e.sent++
		n := e.sent
		p.Enter(func() { e.give(p, x, id, n, delivers) })
	}
}

// give gives a note to a producer, and waits for the confirmation or not.
func (e *Entities) give(p Process, x *producer, id string, n Note, delivers bool) {
	ctx, cancel := p.WithTimeout(context.Background(), waitMost)
	defer cancel()
	e.counts.Sent++
	if !delivers {
		if x.of.Send(ctx, id, n) == nil {
			e.counts.Stored++
		}
		return
	}
	switch err := x.of.Deliver(ctx, id, n); {
	case err == nil:
		body, err := x.region.Messages().Append(nil, n)
		if err != nil || e.handled[n] == 0 {
			e.w.Violate("what is confirmed was handled", "%s to %s: %d was confirmed, and handled %d times; %v",
				x.id, id, n, e.handled[n], err)
		}
		e.judge.Confirmed(x.id, id, body)
	case errors.Is(err, delivery.ErrSuperseded):
		e.w.Violate("a producer is the latest of its ID", "%s to %s: %v", x.id, id, err)
	default:
		e.counts.Unconfirmed++
	}
}

// Heal implements workload.Workload.
func (e *Entities) Heal() { e.w.After(waitMost, nil, e.flush) }

// flush waits until the producers hold nothing.
func (e *Entities) flush() {
	if e.Missing() == "" {
		return
	}
	e.w.After(time.Second, nil, e.flush)
	for _, p := range e.w.Processes() {
		if x := e.producers[p.UID()]; x != nil && p.Usable() {
			x.flush.On(p, waitMost, x.of.Flush)
		}
	}
}

// Missing implements workload.Workload.
func (e *Entities) Missing() string {
	for _, p := range e.w.Processes() {
		if x := e.producers[p.UID()]; x != nil && !x.flush.Done {
			return fmt.Sprintf("%v: what its producer holds is not confirmed: %+v", p, x.of.Stats())
		}
	}
	return ""
}

// Finish implements workload.Workload.
func (e *Entities) Finish() {
	for _, p := range e.w.Processes() {
		x := e.producers[p.UID()]
		if x == nil {
			e.w.Violate("delivered", "%v has no producer", p)
			continue
		}
		if n := e.queues.Lost(x.id); n > 0 {
			e.w.Violate("what a queue has is handled", "%s: %d messages were not", x.id, n)
		}
	}
}

// CountsOf are what the users of a world have done so far, if they are clients of producers.
func CountsOf(users workload.Workload) (c Counts) {
	if e, are := users.(*Entities); are {
		c = e.counts
		c.Judged = e.judge.Counts()
	}
	return c
}
