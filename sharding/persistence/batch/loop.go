package batch

import (
	"errors"
	"time"

	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/batch/calls"
)

// machine is what the client's loop runs.
type machine struct{ c *Client }

var _ runloop.Machine[calls.Input] = (*machine)(nil)

// Step implements runloop.Machine.
func (m *machine) Step(now time.Time, in calls.Input) {
	if s, ok := in.(calls.Submit); ok {
		m.c.opened(s.Op.Value.(request))
	}
	m.c.carryOut(m.c.m.Step(now, in))
	if _, closes := in.(calls.Close); closes {
		close(m.c.ended)
	}
}

// Flush implements runloop.Machine.
func (m *machine) Flush() {
	c := m.c
	m.Step(c.cfg.Scheduler.Now(), calls.Flush{})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats, c.conflictsRead = c.m.Stats(), c.conflicts
}

// Deadline implements runloop.Machine.
func (m *machine) Deadline() time.Time { return m.c.m.Deadline() }

// Tick implements runloop.Machine.
func (m *machine) Tick() calls.Input { return calls.Tick{} }

// carryOut does what a step asks for.
func (c *Client) carryOut(fx *calls.Effects) {
	c.meters.observe(fx)
	for _, x := range fx.Start {
		c.work.Go(func() { c.call(x) })
	}
	for _, d := range fx.Done {
		if errors.Is(d.Err, persistence.ErrConflict) {
			c.conflicts++
		}
		r := d.Op.Value.(request)
		c.closed(r)
		r.finish(d.Err)
	}
	for _, n := range fx.Notices {
		c.pending.noticed(n)
		c.cfg.Emit(c.event(n))
	}
}

// opened notes a request that has to be answered, even if the machine breaks.
func (c *Client) opened(r request) {
	r.base().place = len(c.open)
	c.open = append(c.open, r)
}

// closed notes that a request is about to be answered.
func (c *Client) closed(r request) {
	place, last := r.base().place, len(c.open)-1
	c.open[place] = c.open[last]
	c.open[place].base().place = place
	c.open[last] = nil
	c.open = c.open[:last]
	if last == 0 && cap(c.open) > openMax {
		c.open = nil
	}
}

// openMax bounds the places that are kept when nothing is open.
const openMax = 4096
