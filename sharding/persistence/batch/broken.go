package batch

import (
	"fmt"

	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/sharding/persistence/batch/calls"
)

// breaks ends the client because its machine has panicked, on the goroutine of the loop. All that is
// not done gets ErrBroken, as does all that comes later. Nothing that the client shares with others is
// harmed, so the node goes on.
func (c *Client) breaks(b runloop.Broken) {
	err := fmt.Errorf("%w: entity type %q: %v", ErrBroken, c.cfg.Name, b.Value)
	c.broken.Store(&err)
	c.cancel()
	open := c.open
	for _, in := range c.loop.Rest() {
		if s, ok := in.(calls.Submit); ok {
			open = append(open, s.Op.Value.(request))
		}
	}
	for _, r := range open {
		c.survive(func() { r.finish(err) })
	}
	select {
	case <-c.ended:
	default:
		close(c.ended)
	}
	c.survive(func() {
		c.cfg.Emit(ClientBroken{
			Type: c.cfg.Name, State: c.state(), Panic: fmt.Sprint(b.Value), Stack: string(b.Stack),
		})
	})
}

// survive calls what may be the cause of the break, and may panic again.
func (c *Client) survive(fn func()) {
	defer func() { _ = recover() }()
	fn()
}

// state prints the machine, which may be unable to.
func (c *Client) state() (text string) {
	defer func() {
		if v := recover(); v != nil {
			text = fmt.Sprintf("it does not print itself: %v", v)
		}
	}()
	return fmt.Sprintf("%+v", c.m.Stats())
}

// refusal is why nothing more is taken. The loop is about to end, or has ended.
func (c *Client) refusal() error {
	c.cfg.Scheduler.Await(c.loop.Stopped(), nil, nil)
	if err := c.broken.Load(); err != nil {
		return *err
	}
	return ErrClosed
}
