package write

import (
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/operation"
	"github.com/coterie-go/coterie/replicator/push"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/settings"
)

// newHolding returns what holds the updates of replica 1 back, in a view with replica 2 that has
// acknowledged nothing.
func newHolding(backlogMax int) (*Holding, *replica.Site) {
	site := newSite(settings.Config{BacklogMax: backlogMax},
		replica.View{Epoch: 1, Voters: []replica.Member{{ID: 1}, {ID: 2}}})
	ops := operation.NewInflight(site)
	h := NewHolding(replica.New(site, keyspace.Volatile, &quorum.Chain{}), &ops, &push.Outbox{})
	return &h, site
}

// Updates of one key happen in the order in which they came, also those that are passed over while
// their key is frozen and then left while a peer is too far behind.
func TestWhatIsHeldBackKeepsItsOrder(t *testing.T) {
	h, site := newHolding(64)
	h.Freeze("k", time.Second)
	for i, key := range []string{"k", "other", "k", "k"} {
		if o := h.ops.NewOp(uint64(i+1), key, quorum.Majority); !h.Hold(o, time.Minute) {
			if key == "k" {
				t.Fatalf("update %d is not held back", i+1)
			}
			h.ops.Begin(o, time.Minute)
			h.Keep(o)
		}
	}
	var done []uint64
	admit := func(o *operation.Op) {
		done = append(done, o.ID)
		h.own.Add(crdt.Group{{Dot: crdt.Dot{Origin: 1, Seq: uint64(len(done))}, Key: o.Key}}, false, 1<<20)
	}
	h.Admit(admit)
	if !h.Crowded() || !slices.Equal(done, []uint64{2}) {
		t.Fatalf("%d happened, crowded: %v", done, h.Crowded())
	}
	h.own.Forget(1)
	site.Now = site.Now.Add(3 * time.Second)
	if h.OnTime(); h.isFrozen("k") {
		t.Fatal("the key is still frozen")
	}
	for h.Len() > 0 {
		h.Admit(admit)
		h.own.Forget(uint64(len(done)))
	}
	if !slices.Equal(done, []uint64{2, 1, 3, 4}) {
		t.Errorf("they happened in the order %d", done)
	}
	if err := h.Check(); err != nil {
		t.Error(err)
	}
}
