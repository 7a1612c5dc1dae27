package seats

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/proptest/simtest"
	"github.com/coterie-go/coterie/sharding"
)

// shows are shows on three nodes, whatever happens to these.
func shows(looksAway bool) simtest.Entity[Command, [2]string] {
	var office *Office
	return simtest.Entity[Command, [2]string]{
		Size:  simtest.Size{Entities: 1},
		Begin: func() { office = &Office{LooksAway: looksAway} },
		Start: func(n *simtest.Node) (sharding.EntityType[Command], error) { return Shows(office, n.Call), nil },
		Op: func(t *rapid.T) simtest.Op[Command] {
			guest := rapid.SampledFrom([]string{"ann", "bob", "eve"}).Draw(t, "guest")
			return simtest.Ask(Reserve{Seat: rapid.IntRange(0, 1).Draw(t, "seat"), Guest: guest})
		},
		Model: func(guests [2]string, cmd Command) ([2]string, any) {
			m := cmd.(Reserve)
			if guests[m.Seat] == "" {
				guests[m.Seat] = m.Guest
			}
			return guests, guests[m.Seat]
		},
	}
}

// Each seat is sold once.
func TestShows(t *testing.T) { shows(false).Check(t) }
