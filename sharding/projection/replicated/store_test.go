package replicated

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/projection"
	"github.com/coterie-go/coterie/sharding/projection/projectiontest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB, n *ddata.Node) *Store {
	t.Helper()
	s, err := Open(n, "backend")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestLaws(t *testing.T) {
	t.Run("one node", func(t *testing.T) {
		projectiontest.Run(t, func(t *testing.T) (a, b projection.Offsets) {
			s := open(t, ddatatest.Start(t, "backend")[0])
			return s, s
		})
	})
	t.Run("three nodes", func(t *testing.T) {
		projectiontest.Run(t, func(t *testing.T) (a, b projection.Offsets) {
			nodes := ddatatest.Start(t, "backend", "backend", "backend")
			return open(t, nodes[0]), open(t, nodes[1])
		})
	})
}

func TestOpen(t *testing.T) {
	if _, err := Open(ddatatest.Start(t, "backend")[0], "other"); !errors.Is(err, ddata.ErrUnknownRole) {
		t.Error(err)
	}
	if !slices.Contains(host.DurableKeys(), "projection/*") {
		t.Errorf("the keys are not durable: %q", host.DurableKeys())
	}
}

// What a save that was answered nil has saved is where a later claim goes on, on another node, however
// the two come together; a save behind a claim is refused.
func TestSaveBesideClaim(t *testing.T) {
	nodes := ddatatest.Start(t, "backend", "backend", "backend")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	part := projection.Part{Of: 1}
	claim := func(s *Store) (projection.Claim, uint64) {
		c, at, err := s.Claim(ctx, "p", part)
		if err != nil {
			t.Fatal(err)
		}
		return c, at.Handled
	}
	owner := open(t, nodes[0])
	c, handled := claim(owner)
	for round := range 40 {
		next := open(t, nodes[(round+1)%3])
		var saving sync.WaitGroup
		saved := handled
		saving.Go(func() {
			for n := handled + 1; ; n++ {
				err := owner.Save(ctx, c, projection.Progress{Handled: n, Offset: persistence.Offset("x")})
				if err != nil {
					if !errors.Is(err, projection.ErrFenced) {
						t.Error(err)
					}
					return
				}
				saved = n
			}
		})
		later, at := claim(next)
		saving.Wait()
		if later.Number <= c.Number {
			t.Fatalf("round %d: claim %d after %d", round, later.Number, c.Number)
		}
		if at < saved || at > saved+1 {
			t.Fatalf("round %d: %d are saved, and the next claim goes on at %d", round, saved, at)
		}
		// A save that comes after the claim leaves nothing, also if the claim has saved nothing.
		c, handled = claim(next)
		if handled != at {
			t.Fatalf("round %d: a claim goes on at %d, and the one after it at %d", round, at, handled)
		}
		owner = next
	}
	if handled == 0 {
		t.Error("nothing was ever saved")
	}
}
