package eventsourced

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/remind/memory"
)

// A reminder wakes an entity that was passivated, after it has read its events. It has come to its end
// when what it leads to is stored: if that fails it comes again.
func TestReminders(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s, b, came := newShelf(), sums(), 0
		handle := b.Handle
		b.Handle = func(c *sharding.Context[command], now sum, m command) (Effect[command, event, sum], error) {
			if _, is := c.Reminder(); is {
				came++
			} else if a, is := m.(add); is {
				if err := c.Remind("again", time.Now().Add(time.Hour), add{N: 10 * a.N}); err != nil {
					return Effect[command, event, sum]{}, err
				}
			}
			return handle(c, now, m)
		}
		typ := sumType()
		typ.Reminders = sharding.Reminders{Enabled: true, Store: &memory.Store{}}
		g := nodeOf(t, s.on(typ, b))
		wants(t, g, "a", add{N: 1}, 1)
		<-time.After(59 * time.Minute)
		if n := g.Stats().Active; n != 0 {
			t.Errorf("%d entities are active", n)
		}
		room := time.Now().Add(time.Minute + 10*time.Second)
		s.hook(only("append", func(context.Context) error {
			if time.Now().Before(room) {
				return errors.New("the disk is full")
			}
			return nil
		}), nil)
		<-time.After(10 * time.Minute)
		wants(t, g, "a", get{}, 11)
		if came < 3 {
			t.Errorf("the reminder came %d times, and its event could not be stored for 10 s", came)
		}
	})
}
