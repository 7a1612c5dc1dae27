package write

import (
	"slices"
	"strings"
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
	var none quorum.Joint[*replica.Peer]
	h := NewHolding(replica.New(site, keyspace.Volatile, &quorum.Chain{}), &ops, &none, &push.Outbox{})
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

// Updates wait when a peer is as far behind as allowed, unless a majority of each view that counts
// is less than a quarter of that behind.
func TestUpdatesWaitUnlessAMajorityKeepsUp(t *testing.T) {
	const each, limit = 2000, 8000 // bytes: four groups are too far, two are too many to keep up
	ids := []crdt.Origin{2, 3, 4, 5}
	for _, c := range []struct {
		name    string
		lacks   [4]uint64 // groups
		silent  int       // how many of the last peers do not answer
		voters  []crdt.Origin
		before  []crdt.Origin // voters of a view that is not settled
		crowded bool
	}{
		{"none is far behind", [4]uint64{3, 3, 3, 3}, 0, ids, nil, false},
		{"two of five are", [4]uint64{0, 0, 4, 4}, 0, ids, nil, false},
		{"three of five are", [4]uint64{0, 4, 4, 4}, 0, ids, nil, true},
		{"one of five is, two do not keep up", [4]uint64{0, 2, 2, 4}, 0, ids, nil, true},
		{"one of five is, two do not answer", [4]uint64{0, 4, 4, 4}, 2, ids, nil, true},
		{"those that are do not answer", [4]uint64{0, 0, 4, 4}, 2, ids, nil, false},
		{"one of two is", [4]uint64{4, 0, 0, 0}, 0, ids[:1], nil, true},
		{"a learner is", [4]uint64{0, 0, 4, 4}, 0, ids[:2], nil, false},
		{"most of the view before are", [4]uint64{0, 0, 4, 4}, 0, ids[:2], ids[2:], true},
	} {
		voters := []replica.Member{{ID: 1}}
		for _, id := range c.voters {
			voters = append(voters, replica.Member{ID: id})
		}
		view := replica.View{Epoch: 2, Voters: voters}
		for _, id := range ids[len(c.voters):] {
			view.Learners = append(view.Learners, replica.Member{ID: id})
		}
		site := newSite(settings.Config{BacklogMax: limit}, view)
		peersOf := func(ids []crdt.Origin) (ps []*replica.Peer) {
			for _, id := range ids {
				ps = append(ps, site.Peer(id))
			}
			return ps
		}
		sets := []quorum.Set[*replica.Peer]{{Epoch: 2, Size: len(voters), Self: true, Peers: peersOf(c.voters)}}
		if c.before != nil {
			sets = append(sets, quorum.Set[*replica.Peer]{Epoch: 1, Size: len(c.before), Peers: peersOf(c.before)})
		}
		var joint quorum.Joint[*replica.Peer]
		joint.Replace(true, sets)
		var own push.Outbox
		for seq := range uint64(4) {
			event := crdt.Event{Dot: crdt.Dot{Origin: 1, Seq: seq + 1}, Path: strings.Repeat("x", each)}
			own.Add(crdt.Group{event}, false, 1<<20)
		}
		for i, p := range peersOf(ids) {
			p.Link(keyspace.Volatile).Window.SetApplied(4 - c.lacks[i])
			p.Reachable = i < len(ids)-c.silent
		}
		ops := operation.NewInflight(site)
		h := NewHolding(replica.New(site, keyspace.Volatile, &quorum.Chain{}), &ops, &joint, &own)
		if h.Crowded() != c.crowded {
			t.Errorf("%s: crowded %v, want %v", c.name, h.Crowded(), c.crowded)
		}
	}
}
