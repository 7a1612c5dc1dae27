package shard

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// rolled is a shard that has read its ids and has entered the first part. Ids that begin with an x are of another one.
func rolled(t *testing.T, ids []protocol.EntityID) *soloShard {
	sh, err := New(protocol.Config{
		Identity: protocol.Identity{
			Name: "t", Shards: 4,
			ShardOf: protocol.ShardFunc{Name: "x", Of: func(id string) protocol.ShardID {
				if strings.HasPrefix(id, "x") {
					return 3
				}
				return 2
			}},
		},
		Self: 1, Remember: protocol.Remember[protocol.StoreID]{Entities: true},
	}, newRand(), 2)
	if err != nil {
		t.Fatal(err)
	}
	s := &soloShard{t: t, sh: sh, now: time.Unix(0, 0)}
	s.load(ids)
	return s
}

// load opens the shard, and gives it its ids.
func (s *soloShard) load(ids []protocol.EntityID) {
	s.t.Helper()
	fx, _ := s.step(protocol.Open{})
	s.step(protocol.DidRead{ID: fx.Read[0].ID, IDs: ids})
	if s.sh.phase != shardLoading || s.entities() != rollMax {
		s.t.Fatal(s.sh)
	}
}

func (s *soloShard) entities() int { return s.sh.population.entities.byID.len }

// rest ticks as long as the shard wants it at once, and returns what starts.
func (s *soloShard) rest() (started []protocol.EntityID) {
	s.t.Helper()
	for s.sh.Deadline().Equal(s.now) {
		before := s.entities()
		fx, _ := s.step(protocol.Tick{})
		if err := s.sh.Check(); err != nil {
			s.t.Fatal(err)
		}
		if n := s.entities() - before; n > rollMax {
			s.t.Errorf("a step enters %d entities", n)
		}
		for _, a := range fx.Do {
			if st, is := a.(protocol.StartEntities); is {
				started = append(started, st.IDs...)
			}
		}
	}
	return started
}

// manyIDs are three parts of ids; every tenth is of another shard, if there are strangers.
func manyIDs(strangers bool) (ids, own []protocol.EntityID) {
	for i := range 2*rollMax + rollMax/2 {
		id := protocol.EntityID("e" + strconv.Itoa(i))
		if strangers && i%10 == 9 {
			id = "x" + id
		} else {
			own = append(own, id)
		}
		ids = append(ids, id)
	}
	return ids, own
}

// Many ids are entered in parts, before the shard opens. Those of this shard start, in order, and no others.
func TestManyIDsAreEnteredInParts(t *testing.T) {
	for _, strangers := range []bool{false, true} {
		ids, own := manyIDs(strangers)
		read := slices.Clone(ids)
		s := rolled(t, ids)
		if got := s.rest(); !slices.Equal(got, own) || s.sh.phase != shardOpen || s.entities() != len(ids) {
			t.Errorf("strangers: %v: %d start of %d: %v", strangers, len(got), len(own), s.sh)
		}
		if n := len(s.sh.population.strangers.ids); n > 0 != strangers {
			t.Errorf("%d strangers wait", n)
		}
		if !slices.Equal(ids, read) {
			t.Error("what was read is changed: it may be the store's")
		}
	}
}

// What the shard hears of its entities while their ids are entered is heeded when it opens: one that is wanted starts
// first, one that has vanished from the set is put back, and one that has appeared is looked for.
func TestWhatIsHeardWhileIDsAreEntered(t *testing.T) {
	ids, own := manyIDs(false)
	s := rolled(t, ids)
	s.step(protocol.IDsChanged{Removed: []protocol.EntityID{"e1", "e20000"}, Added: []protocol.EntityID{"new"}})
	s.step(protocol.Wake{ID: "e20000"})
	s.step(protocol.Wake{ID: "fresh"})
	got := s.rest()
	if got[0] != "e20000" || len(got) != len(own) {
		t.Errorf("%d start of %d, the first is %v", len(got), len(own), got[0])
	}
	w, r := s.sh.population.store.write, s.sh.population.store.read
	if want := []protocol.EntityID{"e1", "e20000", "fresh"}; !slices.Equal(w.AddIDs, want) || r == 0 {
		t.Errorf("it writes %v, want %v; reads %d", w.AddIDs, want, r)
	}
}

// A shard that is stopped while its ids are entered has stopped, and begins anew when it is opened again.
func TestStopWhileIDsAreEntered(t *testing.T) {
	ids, own := manyIDs(true)
	s := rolled(t, ids)
	s.step(protocol.IDsChanged{Removed: []protocol.EntityID{"e1"}})
	fx, _ := s.step(protocol.Stop{HandOff: protocol.Token{Seq: 1}})
	if _, stopped := fx.Region[0].(protocol.ShardStopped); !stopped || s.entities() != 0 || !s.sh.Deadline().IsZero() {
		t.Fatalf("%v, %v", fx.Region, s.sh)
	}
	if err := s.sh.Check(); err != nil {
		t.Fatal(err)
	}
	s.load(ids)
	if got := s.rest(); !slices.Equal(got, own) || len(s.sh.population.store.write.AddIDs) > 0 {
		t.Errorf("%d start of %d: %v", len(got), len(own), s.sh)
	}
}
