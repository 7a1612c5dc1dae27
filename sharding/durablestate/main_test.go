package durablestate

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/batch"
	"github.com/coterie-go/coterie/sharding/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The messages of the tests.
type (
	command interface{ command() }

	put struct { // answered with the number of items after it
		sharding.Returns[command, int]
		Item string
	}
	list struct {
		sharding.Returns[command, string]
	}
	clear struct{ sharding.Returns[command, int] }
	leave struct{}
)

func (put) command()   {}
func (list) command()  {}
func (clear) command() {}
func (leave) command() {}

// box is the state of the tests.
type box struct{ Items []string }

type effect = Effect[command, box]

func size(b box) any { return len(b.Items) }

func handle(c *sharding.Context[command], b box, m command) (effect, error) {
	switch m := m.(type) {
	case put:
		return effect{}.Persist(box{append(slices.Clip(b.Items), m.Item)}).ThenReply(size), nil
	case list:
		return effect{}, c.Reply(strings.Join(b.Items, " "))
	case clear:
		return effect{}.Delete().ThenReply(size), nil
	default:
		return effect{}, c.Passivate()
	}
}

func boxType() sharding.EntityType[command] {
	return sharding.EntityType[command]{
		Identity: sharding.Identity{Name: "box", Role: "backend", Shards: 4},
		Messages: sharding.CBOR[command](put{}, list{}, clear{}, leave{}),
	}
}

// shelf is a store in memory, whose calls can be held back and can fail.
type shelf struct {
	mu            sync.Mutex
	fence         persistence.Hosting // the tests use one shard each
	all           map[protocol.EntityID]persistence.State
	write         uint64                // the ID of the last one
	before, after func(op string) error // before and after a call takes effect
}

func newShelf() *shelf {
	nothing := func(string) error { return nil }
	return &shelf{all: map[protocol.EntityID]persistence.State{}, before: nothing, after: nothing}
}

// hook sets what happens before and after each call from now on.
func (s *shelf) hook(before, after func(op string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before, s.after = before, after
}

// state is that of an entity.
func (s *shelf) state(id protocol.EntityID) persistence.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[id]
}

// keep stores a state.
func (s *shelf) keep(id protocol.EntityID, x persistence.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[id] = x
}

// do runs a call.
func (s *shelf) do(op string, h persistence.Hosting, fn func() error) error {
	s.mu.Lock()
	before, after := s.before, s.after
	s.mu.Unlock()
	if err := before(op); err != nil {
		return err
	}
	s.mu.Lock()
	if h.Token.Less(s.fence.Token) {
		s.mu.Unlock()
		return persistence.ErrFenced
	}
	err := fn()
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return after(op)
}

var _ persistence.States = (*shelf)(nil)

// Fence implements persistence.Fencer.
func (s *shelf) Fence(_ context.Context, h persistence.Hosting) error {
	return s.do("fence", h, func() error {
		s.fence = h
		return nil
	})
}

// SaveStates implements persistence.States.
func (s *shelf) SaveStates(_ context.Context, h persistence.Hosting,
	writes []persistence.StateWrite) (refused []persistence.Refusal, err error) {
	err = s.do("save", h, func() error {
		for i, w := range writes {
			if w.ID == s.write && w.After+1 == s.all[w.Entity].Revision {
				continue // it is repeated
			}
			if w.After != s.all[w.Entity].Revision || w.State.Revision != w.After+1 {
				refused = append(refused, persistence.Refusal{Index: i, Err: persistence.ErrConflict})
				continue
			}
			s.all[w.Entity], s.write = w.State, w.ID
		}
		return nil
	})
	return refused, err
}

// LoadStates implements persistence.States.
func (s *shelf) LoadStates(_ context.Context, h persistence.Hosting, ids []protocol.EntityID,
	each func(int, persistence.State) error) error {
	return s.do("load", h, func() error {
		for i, id := range ids {
			if x := s.all[id]; x.Revision > 0 {
				x.Body = slices.Clone(x.Body)
				err := each(i, x)
				copy(x.Body, make([]byte, len(x.Body))) // it was valid until each returned
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// fast gives up soon.
var fast = batch.Settings{CallTimeout: time.Second, GiveUpAfter: time.Second}

// boxes is a region of one node over a shelf.
func boxes(t *testing.T, s *shelf, typ sharding.EntityType[command],
	b Behavior[command, box]) *sharding.Region[command] {
	t.Helper()
	n := ddatatest.NewCluster(t, 1, func(_ int, c *ddata.Config) { c.Roles = []string{"backend"} }).Node(0)
	b.States = s
	typ, err := Persist(typ, b)
	if err != nil {
		t.Fatal(err)
	}
	g, err := sharding.Start(n, typ)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// wants asks "a" for its list, and compares it.
func wants(t *testing.T, g *sharding.Region[command], want string) {
	t.Helper()
	if got, err := sharding.Ask(t.Context(), g.Ref("a"), list{}); err != nil || got != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

// does asks "a" for a change, and compares the size.
func does(t *testing.T, g *sharding.Region[command], req sharding.Request[command, int], want int) {
	t.Helper()
	if got, err := sharding.Ask(t.Context(), g.Ref("a"), req); err != nil || got != want {
		t.Errorf("%T: %d, %v, want %d", req, got, err, want)
	}
}
