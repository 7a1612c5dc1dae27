package sharding

import (
	"testing"
	"testing/synctest"

	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/passivation"
)

// promptControl starts an entity, and has it run as far as it can, before the sender that woke it
// goes on.
type promptControl struct{ *fakeControl }

func (p promptControl) Wake(s *entities.Shard, id string) {
	p.fakeControl.Wake(s, id)
	synctest.Wait()
}

// The message that starts an entity is one use of it, also if the start is over before the sender
// goes on. In a segmented order a second use would take it to the upper level.
func TestFirstMessageIsOneUse(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		typ := cartType(&cartLog{})
		typ.Passivation.Strategy = passivation.Strategy{
			ActiveEntityLimit: 100, Replacement: passivation.LeastRecentlyUsed, Levels: 2,
		}
		g, _ := localRegion(t, typ)
		g.plane.SteeredBy(promptControl{&fakeControl{r: g.plane}})
		level := func(id string) int {
			synctest.Wait()
			s := g.plane.Routes.Hosted[g.plane.Routes.ShardOf(id)].Load()
			return s.Passivator.Policy.Standing(s.Find(id).Slot).Level
		}
		for uses := range 2 {
			if err := g.Tell(t.Context(), "a", addItem{}); err != nil {
				t.Fatal(err)
			}
			if got := level("a"); got != uses {
				t.Errorf("after %d messages it is in level %d, want %d", uses+1, got, uses)
			}
		}
	})
}
