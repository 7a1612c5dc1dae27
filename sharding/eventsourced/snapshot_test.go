package eventsourced

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events/eventstest"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/batch"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
)

// notices are the SnapshotFailed that a node has told of.
type notices struct {
	mu  sync.Mutex
	all []SnapshotFailed
}

// doing is what failed.
func (n *notices) doing() (all []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range n.all {
		all = append(all, e.Doing)
	}
	return all
}

// noticing is a region of one node whose notices are kept.
func noticing(t *testing.T, s *shelf, b Behavior[command, event, sum]) (*sharding.Region[command], *notices) {
	t.Helper()
	n, nodes := listening(t)
	return start(t, s.on(sumType(), b), nodes...)[0], n
}

// listening is one node, and its notices.
func listening(t *testing.T) (*notices, []*ddata.Node) {
	t.Helper()
	n := &notices{}
	_, nodes := cluster(t, 1, func(c *ddata.Config) {
		c.OnEvent = eventstest.On(func(e SnapshotFailed) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.all = append(n.all, e)
		})
	})
	return n, nodes
}

// adds adds the numbers from first to last.
func adds(t *testing.T, g *sharding.Region[command], id string, first, last int) {
	t.Helper()
	for n := first; n <= last; n++ {
		wants(t, g, id, add{N: n}, n*(n+1)/2)
		synctest.Wait() // for a snapshot: while one is being written there is no other
	}
	<-time.After(3 * time.Second) // for snapshots, which may be repeated until they are given up
}

// stored is what a shelf has of "a".
func (s *shelf) stored() (deleted, last uint64, snapshots []uint64) {
	s.of("a", func(x *history) {
		deleted, last = x.deleted, x.last()
		for _, sn := range x.snapshots {
			snapshots = append(snapshots, sn.Seq)
		}
	})
	return deleted, last, snapshots
}

// Snapshots are made after so many events, and the last ones are kept, with the events after the
// oldest of them. An incarnation begins with the newest.
func TestSnapshotsAndRetention(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s, b := newShelf(), sums()
		b.Snapshot = Snapshot[sum]{Every: 10, Keep: 3, DeleteEvents: true}
		g, _ := noticing(t, s, b)
		adds(t, g, "a", 1, 9)
		if _, _, all := s.stored(); len(all) > 0 {
			t.Error("too early:", all)
		}
		adds(t, g, "a", 10, 29)
		if deleted, last, all := s.stored(); deleted != 0 || last != 29 || !slices.Equal(all, []uint64{10, 20}) {
			t.Error(deleted, last, all)
		}
		passivate(t, g, "a")
		adds(t, g, "a", 30, 47)
		if deleted, last, all := s.stored(); deleted != 20 || last != 47 || !slices.Equal(all, []uint64{20, 30, 40}) {
			t.Error("not counted over incarnations:", deleted, last, all)
		}
		passivate(t, g, "a")
		wants(t, g, "a", get{}, 47*48/2)
		all, err := sharding.Ask(t.Context(), g.Ref("a"), seen{})
		if err != nil || len(all) != 47 || !slices.IsSorted(all) {
			t.Error(all, err)
		}
	})
}

// An incarnation counts the snapshots of those before it.
func TestRetentionOverIncarnations(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s, b := newShelf(), sums()
		b.Snapshot = Snapshot[sum]{Every: 10, Keep: 3, DeleteEvents: true}
		g, _ := noticing(t, s, b)
		adds(t, g, "a", 1, 30)
		passivate(t, g, "a")
		adds(t, g, "a", 31, 40)
		if deleted, last, all := s.stored(); deleted != 20 || last != 40 || !slices.Equal(all, []uint64{20, 30, 40}) {
			t.Error(deleted, last, all)
		}
	})
}

// While a snapshot is being written there is no other one. The next event after it begins the one that
// is due.
func TestOneSnapshotAtATime(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s, b, open := newShelf(), sums(), make(chan struct{})
		b.Snapshot = Snapshot[sum]{Every: 5}
		b.Calls = batch.Settings{} // no call is repeated soon
		g, _ := noticing(t, s, b)
		s.hook(only("save", func(context.Context) error { <-open; return nil }), nil)
		for n := 1; n <= 14; n++ {
			wants(t, g, "a", add{N: n}, n*(n+1)/2)
		}
		synctest.Wait()
		close(open)
		synctest.Wait()
		if _, _, all := s.stored(); !slices.Equal(all, []uint64{5}) {
			t.Error("while one is written:", all)
		}
		adds(t, g, "a", 15, 15)
		if _, _, all := s.stored(); !slices.Equal(all, []uint64{5, 15}) {
			t.Error("afterwards:", all)
		}
	})
}

// A snapshot that was not written stands for nothing: what it would have replaced stays.
func TestWhatAFailedSnapshotWouldReplaceStays(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s, b := newShelf(), sums()
		b.Snapshot = Snapshot[sum]{Every: 5, Keep: 2, DeleteEvents: true}
		g, _ := noticing(t, s, b)
		adds(t, g, "a", 1, 10)
		s.hook(only("save", func(context.Context) error { return errors.New("no room") }), nil)
		for last := 15; last <= 30; last += 5 {
			adds(t, g, "a", last-4, last)
		}
		s.hook(nil, nil)
		if deleted, last, all := s.stored(); deleted != 5 || last != 30 || !slices.Equal(all, []uint64{5, 10}) {
			t.Error(deleted, last, all)
		}
		passivate(t, g, "a")
		wants(t, g, "a", get{}, 465)
	})
}

// The two snapshots that can be under way at the end of an incarnation are answered in any order.
func TestAnswersOfSnapshotsInAnyOrder(t *testing.T) {
	s := &snapshots{}
	s.begin([]uint64{5})
	if older, ok := s.take(10, 5, false); !ok || !slices.Equal(older, []uint64{5}) {
		t.Fatal(older, ok)
	}
	if older, ok := s.take(12, 1, true); !ok || !slices.Equal(older, []uint64{5}) {
		t.Fatal(older, ok)
	}
	if oldest := s.taken(12, 3, nil); oldest != 0 {
		t.Error("too early: all below", oldest)
	}
	if oldest := s.taken(10, 2, nil); oldest != 10 || !slices.Equal(s.kept, []uint64{10, 12}) {
		t.Error("the oldest is", oldest, "of", s.kept)
	}
}

// fickle is a state that cannot be encoded while it is 5.
type fickle struct{ sum int }

func (f fickle) MarshalCBOR() ([]byte, error) {
	if f.sum == 5 {
		return nil, errors.New("a bad number")
	}
	return []byte{byte(f.sum)}, nil // below 24 that is CBOR
}

func (f *fickle) UnmarshalCBOR(b []byte) error {
	f.sum = int(b[0])
	return nil
}

// A state that cannot be encoded is told of, and the next one is kept.
func TestASnapshotThatIsNotEncoded(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s, of := newShelf(), sums()
		n, nodes := listening(t)
		typ, err := Persist(sumType(), Behavior[command, event, fickle]{
			Journal: s, Events: of.Events, Snapshot: Snapshot[fickle]{Every: 1},
			Handle: func(_ *sharding.Context[command], _ fickle, m command) (Effect[command, event, fickle], error) {
				fx := Effect[command, event, fickle]{}.Persist(added{m.(add).N})
				return fx.ThenReply(func(f fickle) any { return f.sum }), nil
			},
			Apply: func(f fickle, e event) fickle { return fickle{f.sum + e.(added).N} },
		})
		if err != nil {
			t.Fatal(err)
		}
		g := start(t, typ, nodes...)[0]
		for sum := 4; sum <= 7; sum++ {
			wants(t, g, "a", add{N: map[bool]int{true: 4, false: 1}[sum == 4]}, sum)
			synctest.Wait()
		}
		if _, _, all := s.stored(); !slices.Equal(all, []uint64{3, 4}) {
			t.Error(all)
		}
		if doing := n.doing(); len(doing) != 1 || !errors.Is(n.all[0].Err, schema.ErrEncoding) {
			t.Error(n.all)
		}
	})
}

// The end of an incarnation waits for its snapshot.
func TestTheEndWaitsForTheSnapshot(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s, b, open := newShelf(), sums(), make(chan struct{})
		b.Snapshot = Snapshot[sum]{OnStop: true}
		g, _ := noticing(t, s, b)
		wants(t, g, "a", add{N: 1}, 1)
		s.hook(only("save", func(context.Context) error { <-open; return nil }), nil)
		passivate(t, g, "a")
		if n := g.Stats().Active; n != 1 {
			t.Errorf("%d are active before the snapshot is written", n)
		}
		close(open)
		synctest.Wait()
		if _, _, all := s.stored(); g.Stats().Active != 0 || !slices.Equal(all, []uint64{1}) {
			t.Errorf("%d are active, snapshots %v", g.Stats().Active, all)
		}
	})
}

// An entity that ends in order leaves a snapshot, unless there is one of its state.
func TestSnapshotOnStop(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s, b := newShelf(), sums()
		b.Snapshot = Snapshot[sum]{OnStop: true}
		g, _ := noticing(t, s, b)
		adds(t, g, "a", 1, 3)
		for range 2 {
			passivate(t, g, "a")
			if deleted, _, all := s.stored(); deleted != 0 || !slices.Equal(all, []uint64{3}) {
				t.Error(deleted, all)
			}
			wants(t, g, "a", get{}, 6)
		}
		if n := s.called("save"); n != 1 {
			t.Errorf("%d snapshots of one state", n)
		}
	})
}

// When snapshots are damaged the one before, or all events, stand in; a notice tells of each.
func TestDamagedSnapshots(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		for i, c := range []struct {
			snapshot Snapshot[sum]
			damage   func(all []persistence.Snapshot)
			notices  int
			fails    bool
		}{
			{Snapshot[sum]{Every: 5}, func(all []persistence.Snapshot) { all[len(all)-1].Body = nil }, 1, false},
			{Snapshot[sum]{Every: 5}, func(all []persistence.Snapshot) {
				for i := range all {
					all[i].Body = []byte("x")
				}
			}, 2, false},
			{Snapshot[sum]{Every: 5}, func(all []persistence.Snapshot) { all[len(all)-1].Name = "other" }, 1, false},
			{Snapshot[sum]{Every: 5, DeleteEvents: true}, func(all []persistence.Snapshot) {
				all[len(all)-1].Version = 9
			}, 1, false},
			{Snapshot[sum]{Every: 5, DeleteEvents: true}, func(all []persistence.Snapshot) {
				for i := range all {
					all[i].Body = nil
				}
			}, 2, true},
		} {
			s, b := newShelf(), sums()
			b.Snapshot = c.snapshot
			g, n := noticing(t, s, b)
			adds(t, g, "a", 1, 12)
			passivate(t, g, "a")
			s.of("a", func(x *history) { c.damage(x.snapshots) })
			got := <-asks(t, g, "a", get{})
			switch {
			case !c.fails && (got.err != nil || got.n != 78):
				t.Errorf("case %d: %d, %v", i, got.n, got.err)
			case c.fails && (got.err == nil || !strings.Contains(got.err.Error(), "events up to 5 are deleted")):
				t.Errorf("case %d: %v", i, got.err)
			}
			if doing := n.doing(); len(doing) < c.notices || !c.fails && len(doing) > c.notices {
				t.Errorf("case %d: %v", i, doing)
			}
		}
	})
}

// A snapshot that cannot be written, and a deletion that fails, are told of. The entity goes on, and
// what was not deleted is deleted later.
func TestSnapshotsThatFail(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		errStore := errors.New("no room")
		for _, op := range []string{"save", "drop", "delete"} {
			s, b := newShelf(), sums()
			b.Snapshot = Snapshot[sum]{Every: 5, Keep: 1, DeleteEvents: true}
			g, n := noticing(t, s, b)
			s.hook(only(op, func(context.Context) error { return errStore }), nil)
			adds(t, g, "a", 1, 5)
			adds(t, g, "a", 6, 10)
			adds(t, g, "a", 11, 12)
			s.hook(nil, nil)
			if doing := n.doing(); len(doing) != 2 {
				t.Errorf("%s: %v", op, doing)
			}
			adds(t, g, "a", 13, 15)
			if deleted, last, all := s.stored(); deleted != 15 || last != 15 || !slices.Equal(all, []uint64{15}) {
				t.Error(op, deleted, last, all)
			}
			passivate(t, g, "a")
			wants(t, g, "a", get{}, 120)
		}
	})
}

// A state of an earlier version goes through its up-casters.
func TestSnapshotsOfEarlierVersions(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		type total struct{ Sum int }
		s, b := newShelf(), sums()
		b.Snapshot = Snapshot[sum]{OnStop: true}
		g, n := noticing(t, s, b)
		wants(t, g, "a", get{}, 0)
		passivate(t, g, "a")
		s.of("a", func(x *history) {
			old, err := schema.CBOR(schema.Type("state", total{})).Encode(total{5})
			if err != nil {
				t.Fatal(err)
			}
			x.deleted = 2
			x.snapshots = []persistence.Snapshot{{
				Entity: "a", Seq: 2, Name: old.Name, Version: old.Version, Body: sealSnapshot(nil, old.Body),
			}}
		})
		b.Snapshot.Schema = schema.CBOR(schema.Type("state", sum{},
			schema.From(func(x total) (sum, error) { return sum{[]int{x.Sum}}, nil })))
		typ := sumType()
		typ.Name = "later"
		later := s.on(typ, b)
		node := nodeOf(t, later)
		if got := <-asks(t, node, "a", get{}); got != (answer{5, nil}) || len(n.doing()) > 0 {
			t.Error(got.n, got.err, n.doing())
		}
	})
}

// nodeOf is a region of a node of its own.
func nodeOf(t *testing.T, typ sharding.EntityType[command]) *sharding.Region[command] {
	t.Helper()
	_, nodes := cluster(t, 1)
	return start(t, typ, nodes...)[0]
}

// What is no body of a snapshot is refused, whatever it is.
func FuzzOpenSnapshot(f *testing.F) {
	f.Add(uint64(301), sealSnapshot([]uint64{1, 300}, []byte("state")))
	f.Add(uint64(300), sealSnapshot([]uint64{1, 300}, []byte("state")))
	f.Add(uint64(301), sealSnapshot([]uint64{300, 1}, nil))
	f.Add(uint64(1), sealSnapshot(nil, nil))
	f.Fuzz(func(t *testing.T, seq uint64, b []byte) {
		older, state, err := openSnapshot(seq, b)
		if err != nil {
			return
		}
		if !slices.Equal(sealSnapshot(older, state), b) {
			t.Errorf("%x is read as %v, %x", b, older, state)
		}
		if !slices.IsSorted(older) || len(older) > 0 && older[len(older)-1] >= seq {
			t.Errorf("%v before %d", older, seq)
		}
	})
}
