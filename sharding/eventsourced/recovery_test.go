package eventsourced

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// What was added is there when the entity was passivated and comes back.
func TestPassivateAndComeBack(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newShelf()
		g := single(t, s, sums())
		wants(t, g, "a", add{N: 1}, 1)
		wants(t, g, "a", add{N: 2}, 3)
		wants(t, g, "b", add{N: 5}, 5)
		passivate(t, g, "a")
		if n := g.Stats().Active; n != 1 {
			t.Errorf("%d entities are active, want b alone", n)
		}
		wants(t, g, "a", get{}, 3)
		if n := s.called("load"); n != 3 {
			t.Errorf("%d loads, want one for each incarnation", n)
		}
	})
}

// short is a shelf that keeps the last event of each history to itself.
type short struct{ *shelf }

func (s short) Load(ctx context.Context, h persistence.Hosting, reads []persistence.Read,
	each func(int, persistence.Event) error) ([]persistence.End, error) {
	return s.shelf.Load(ctx, h, reads, func(i int, e persistence.Event) (err error) {
		s.mu.Unlock()
		defer s.mu.Lock()
		last := uint64(0)
		s.of(reads[i].Entity, func(x *history) { last = x.last() })
		if e.Seq < last {
			err = each(i, e)
		}
		return err
	})
}

// An entity whose last events are missing does not start: what it would write comes after them.
func TestAHistoryThatEndsTooEarly(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s, b := newShelf(), sums()
		g := single(t, s, b)
		wants(t, g, "a", add{N: 1}, 1)
		wants(t, g, "a", add{N: 2}, 3)
		b.Journal = short{s}
		typ := sumType()
		typ.Name = "short"
		typ, err := Persist(typ, b)
		if err != nil {
			t.Fatal(err)
		}
		_, nodes := cluster(t, 1)
		got := <-asks(t, start(t, typ, nodes...)[0], "a", get{})
		if !errors.Is(got.err, sharding.ErrHandler) ||
			!strings.Contains(got.err.Error(), "the history ends with the number 2") {
			t.Error(got)
		}
	})
}

// What comes while an entity reads its state waits, in order.
func TestOrderWhileRecovering(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s, open := newShelf(), make(chan struct{})
		g := single(t, s, sums())
		wants(t, g, "a", add{N: 1}, 1)
		passivate(t, g, "a")
		s.hook(func(_ context.Context, op string, id protocol.EntityID) error {
			if op == "load" && id == "a" {
				<-open
			}
			return nil
		}, nil)
		for i := range 5 {
			if err := g.Tell(t.Context(), "a", add{N: i + 2}); err != nil {
				t.Fatal(err)
			}
		}
		wants(t, g, elsewhere(g, "a"), add{N: 1}, 1) // others go on
		waiting := asks(t, g, "a", get{})
		synctest.Wait()
		if len(waiting) > 0 {
			t.Fatal("answered before the state was read")
		}
		close(open)
		if got := <-waiting; got.n != 21 || got.err != nil {
			t.Error(got)
		}
		all, err := sharding.Ask(t.Context(), g.Ref("a"), seen{})
		if err != nil || !slices.Equal(all, []int{1, 2, 3, 4, 5, 6}) {
			t.Error(all, err)
		}
	})
}
