package durablestate

import (
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/remind/memory"
)

// A reminder wakes an entity that was passivated, after it has read its state, and may change that.
func TestReminders(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := Behavior[command, box]{
			Handle: func(c *sharding.Context[command], now box, m command) (effect, error) {
				if _, is := c.Reminder(); !is {
					if p, is := m.(put); is {
						again := put{Item: p.Item + " again"}
						if err := c.Remind("again", time.Now().Add(time.Hour), again); err != nil {
							return effect{}, err
						}
					}
				}
				return handle(c, now, m)
			},
		}
		typ := boxType()
		typ.Reminders = sharding.Reminders{Enabled: true, Store: &memory.Store{}}
		g := boxes(t, newShelf(), typ, b)
		does(t, g, put{Item: "pear"}, 1)
		<-time.After(59 * time.Minute)
		if n := g.Stats().Active; n != 0 {
			t.Errorf("%d entities are active", n)
		}
		<-time.After(2 * time.Minute)
		wants(t, g, "pear pear again")
	})
}
