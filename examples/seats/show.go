package seats

import (
	"context"

	"github.com/coterie-go/coterie/sharding"
)

// Command is what a show understands. The answer is the guest that has the seat then.
type Command interface{ isCommand() }

// Reserve asks for a seat. The first guest keeps it.
type Reserve struct {
	sharding.Returns[Command, string]
	Seat  int
	Guest string
}

func (Reserve) isCommand() {}

// Link carries out a call of the office. It returns the error of do, or one of the way to the office.
type Link func(ctx context.Context, do func() error) error

type show struct {
	office *Office
	link   Link
}

// Receive implements sharding.Entity. The token is from before the first call, so that both calls are made
// for one hosting of the show.
func (s *show) Receive(c *sharding.Context[Command], cmd Command) error {
	m, is := cmd.(Reserve)
	if !is {
		return nil
	}
	token, err := c.Fence()
	if err != nil {
		return err
	}
	var guest string
	err = s.link(c, func() (err error) {
		guest, err = s.office.Guest(c.ID(), token, m.Seat)
		return err
	})
	if err != nil {
		return err
	}
	if guest == "" {
		guest = m.Guest
		err := s.link(c, func() error { return s.office.Give(c.ID(), token, m.Seat, guest) })
		if err != nil {
			return err
		}
	}
	return c.Reply(guest)
}

// Shows is the entity type, on a node with a link to the office.
func Shows(office *Office, link Link) sharding.EntityType[Command] {
	return sharding.EntityType[Command]{
		Identity: sharding.Identity{Name: "Show", Role: "box", Shards: 4},
		Messages: sharding.CBOR[Command](Reserve{}),
		New:      func(*sharding.Context[Command]) sharding.Entity[Command] { return &show{office, link} },
	}
}
