package shardingtest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// both runs a test of the kit in virtual time, and in a bubble.
func both(t *testing.T, fn func(t *testing.T)) {
	t.Run("plain", fn)
	t.Run("bubble", func(t *testing.T) { bubble.Test(t, fn) })
}

// The messages of the tests.
type (
	command interface{ command() }

	add   struct{ N int }
	total struct{ sharding.Returns[command, int] }
	crash struct{ sharding.Returns[command, int] }
	pass  struct { // tells another entity, asks it, and answers with its answer
		sharding.Returns[command, int]
		To string
	}
	leave  struct{}
	later  struct{ D time.Duration } // adds 1 when so much has passed
	idle   struct{ D time.Duration } // adds 1 whenever nothing came for so long
	remind struct{ At time.Time }    // adds 1 then
	reply  struct{ sharding.Returns[command, int] }
	post   struct{ Text string }
	inside struct {
		sharding.Returns[command, string]
	} // what effects return after the hook has been called
)

func (add) command()    {}
func (total) command()  {}
func (crash) command()  {}
func (pass) command()   {}
func (leave) command()  {}
func (later) command()  {}
func (idle) command()   {}
func (remind) command() {}
func (reply) command()  {}
func (post) command()   {}
func (inside) command() {}

// sum is the entity of the tests.
type sum struct {
	n     int
	owed  []sharding.Responder
	stops *int
	hook  *func()
}

var errCrash = errors.New("a planned failure")

func (s *sum) Receive(c *sharding.Context[command], m command) error {
	switch m := m.(type) {
	case add:
		s.n += m.N
		for _, r := range s.owed {
			_ = r.Reply(s.n)
		}
		s.owed = nil
	case total:
		return c.Reply(s.n)
	case crash:
		return errCrash
	case pass:
		if err := c.Tell(m.To, add{1}); err != nil {
			return err
		}
		n, err := sharding.Ask(c, c.Region().Ref(m.To), total{})
		if err != nil {
			return err
		}
		return c.Reply(n)
	case leave:
		return c.Passivate()
	case later:
		_, err := c.After(m.D, add{1})
		return err
	case idle:
		return c.SetReceiveTimeout(m.D, add{1})
	case remind:
		return c.Remind("one", m.At, add{1})
	case reply:
		r, err := c.Responder()
		s.owed = append(s.owed, r)
		return err
	case post:
		return c.Post(c.Region().UID(), "box", []byte(m.Text))
	case inside:
		(*s.hook)()
		err := c.Tell(c.ID(), add{1})
		_, fenceless := c.Fence()
		r, _ := c.Responder()
		s.owed = append(s.owed, r)
		return errors.Join(err, fenceless, c.Err())
	}
	return nil
}

// Stop counts.
func (s *sum) Stop(*sharding.Context[command]) error {
	*s.stops++
	return nil
}

func sumType(stops *int, hook *func()) sharding.EntityType[command] {
	return sharding.EntityType[command]{
		Identity: sharding.Identity{Name: "sum", Role: "backend"},
		Messages: sharding.CBOR[command](add{}, total{}, crash{}, pass{}, leave{}, later{}, idle{}, remind{}, reply{},
			post{}, inside{}),
		Reminders: sharding.Reminders{Enabled: true},
		New: func(*sharding.Context[command]) sharding.Entity[command] {
			return &sum{stops: stops, hook: hook}
		},
	}
}

// kit is one of the type of the tests.
func kit(t *testing.T) *Kit[command] {
	t.Helper()
	return New(t, sumType(new(int), new(func())))
}

// wants asks for the sum of an entity.
func wants(t *testing.T, k *Kit[command], id string, want int) {
	t.Helper()
	if n, err := Ask(k, id, total{}); err != nil || n != want {
		t.Errorf("%s has %d, %v, want %d", id, n, err, want)
	}
}

// tells tells an entity.
func tells(t *testing.T, k *Kit[command], id string, m command) {
	t.Helper()
	if err := k.Tell(id, m); err != nil {
		t.Error(fmt.Errorf("%T: %w", m, err))
	}
}
