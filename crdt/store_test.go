package crdt

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestMalformedGroupsAreRefused(t *testing.T) {
	put := func(d Dot, removes ...Dot) Event {
		return Event{Dot: d, Key: "k", Path: "p", Puts: true, Removes: removes}
	}
	long := strings.Repeat("x", PayloadMax+1)
	one, two := Dot{Origin: 1, Seq: 1}, Dot{Origin: 1, Seq: 2}
	for name, c := range map[string]struct {
		g    Group
		want error
	}{
		"empty":            {nil, ErrMalformed},
		"seq zero":         {Group{put(Dot{Origin: 1, Seq: 0})}, ErrMalformed},
		"seq overflow":     {Group{put(Dot{Origin: 1, Seq: math.MaxUint64})}, ErrMalformed},
		"gap":              {Group{put(Dot{Origin: 1, Seq: 1}), put(Dot{Origin: 1, Seq: 3})}, ErrMalformed},
		"two origins":      {Group{put(Dot{Origin: 1, Seq: 1}), put(Dot{Origin: 2, Seq: 2})}, ErrMalformed},
		"removes itself":   {Group{put(Dot{Origin: 1, Seq: 1}, Dot{Origin: 1, Seq: 1})}, ErrMalformed},
		"removes future":   {Group{put(one, two), put(two)}, ErrMalformed},
		"removes nothing":  {Group{put(Dot{Origin: 1, Seq: 1}, Dot{Origin: 2, Seq: 0})}, ErrMalformed},
		"no key":           {Group{{Dot: Dot{Origin: 1, Seq: 1}}}, ErrKey},
		"key not text":     {Group{{Dot: Dot{Origin: 1, Seq: 1}, Key: "\xff"}}, ErrKey},
		"key long":         {Group{{Dot: Dot{Origin: 1, Seq: 1}, Key: long[:KeyMax+1]}}, ErrTooLarge},
		"path long":        {Group{{Dot: Dot{Origin: 1, Seq: 1}, Key: "k", Path: long[:PathMax+1]}}, ErrTooLarge},
		"payload long":     {Group{{Dot: Dot{Origin: 1, Seq: 1}, Key: "k", Puts: true, Payload: long}}, ErrTooLarge},
		"many removes":     {Group{put(Dot{Origin: 1, Seq: 1}, make([]Dot, RemovesMax+1)...)}, ErrTooLarge},
		"many events":      {make(Group, EventsMax+1), ErrTooLarge},
		"payload, no put":  {Group{{Dot: Dot{Origin: 1, Seq: 1}, Key: "k", Payload: "x"}}, ErrMalformed},
		"second key wrong": {Group{put(Dot{Origin: 1, Seq: 1}), {Dot: Dot{Origin: 1, Seq: 2}, Key: "\xff"}}, ErrKey},
	} {
		s := NewStore(StoreOptions{})
		if out, err := s.Apply(c.g, nil); !errors.Is(err, c.want) || out != 0 {
			t.Errorf("%s: %v, %v", name, out, err)
		}
		if !s.Clock().Empty() {
			t.Errorf("%s: the store changed", name)
		}
	}
}

func TestMergeRefusesWhatIsNotTheDonors(t *testing.T) {
	s := NewStore(StoreOptions{})
	var donor Clock
	donor.AddRange(1, 1, 2)
	good := Item{Dot: Dot{Origin: 1, Seq: 1}, Key: "k", Path: "p"}
	for _, bad := range []Item{
		{Dot: Dot{Origin: 1, Seq: 3}, Key: "k"}, {Dot: Dot{Origin: 1, Seq: 2}},
		{Dot: Dot{Origin: 1, Seq: 2}, Key: "k", Path: strings.Repeat("p", PathMax+1)},
	} {
		if err := s.MergeDiff(&donor, nil, []Item{good, bad}, nil); err == nil {
			t.Errorf("merged %v", &bad)
		}
		if s.Len() != 0 || !s.Clock().Empty() {
			t.Fatal("a failed merge changed the store")
		}
	}
}

func addAll(t testing.TB, r *Replica, key string, es ...string) {
	t.Helper()
	for _, e := range es {
		mustUpdate(t, r, key, Mutate[ORSet[string]](func(s *ORSetTx[string]) error { return s.Add(e) }))
	}
}

func TestLogIsBounded(t *testing.T) {
	r := NewReplica(1, StoreOptions{LogMax: 10})
	for i := range 100 {
		addAll(t, r, "s", fmt.Sprint(i))
	}
	st := r.Store()
	if st.LogLen() != 10 || st.Floor().Base(1) != 90 {
		t.Fatal(st)
	}
	var peer Clock
	peer.AddRange(1, 1, 90)
	if gs, _, covered := st.Missing(&peer, 1<<20); !covered || len(gs) != 10 {
		t.Fatal(len(gs), covered)
	}
	if _, _, covered := st.Missing(&Clock{}, 1<<20); covered {
		t.Fatal("covers what it forgot")
	}
	r = NewReplica(1, StoreOptions{LogBytesMax: 1000})
	for i := range 100 {
		addAll(t, r, "s", strings.Repeat("x", 100)+fmt.Sprint(i))
	}
	if n := r.Store().LogLen(); n == 0 || n > 8 {
		t.Fatal(n)
	}
	if err := r.Store().Check(); err != nil {
		t.Fatal(err)
	}
}

// A log whose front does not become stable is bounded too, although trimming leaves holes behind
// it.
func TestLogHolesAreBounded(t *testing.T) {
	s := NewStore(StoreOptions{LogMax: 100})
	stuck := NewReplica(2, StoreOptions{})
	addAll(t, stuck, "s", "x")
	gs, _, _ := stuck.Store().Missing(&Clock{}, 1)
	mustApply(t, s, gs...)
	r := NewReplica(1, StoreOptions{})
	for i := range 1000 {
		addAll(t, r, "s", fmt.Sprint(i))
		gs, _, _ := r.Store().Missing(s.Clock(), 1<<20)
		mustApply(t, s, gs...)
		s.Trim(s.Clock().Of(1))
	}
	if n := s.log.places.Len(); n > 201 {
		t.Fatal(n)
	}
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
}

func TestMissingKeepsFramesSmall(t *testing.T) {
	r := NewReplica(1, StoreOptions{})
	for i := range 100 {
		addAll(t, r, "s", fmt.Sprint(i))
	}
	s := NewStore(StoreOptions{})
	frames := 0
	for more := true; more; frames++ {
		var gs []Group
		gs, more, _ = r.Store().Missing(s.Clock(), 300)
		size := 0
		for _, g := range gs {
			size += len(AppendGroup(nil, g))
		}
		if size > 300 {
			t.Fatal(size)
		}
		mustApply(t, s, gs...)
	}
	if s.Digest() != r.Store().Digest() || frames < 5 {
		t.Fatal(frames, s)
	}
}

// A removal that meets a big key's siblings, by way of the tree.
func TestSiblingsInATree(t *testing.T) {
	a, b := NewReplica(1, StoreOptions{}), NewReplica(2, StoreOptions{})
	for i := range 2 * keySmallMax {
		addAll(t, a, "s", fmt.Sprint(i))
		addAll(t, b, "s", fmt.Sprint(i))
	}
	s := NewStore(StoreOptions{})
	for _, from := range []*Replica{a, b} {
		gs, _, _ := from.Store().Missing(&Clock{}, 1<<20)
		mustApply(t, s, gs...)
	}
	view := s.View("s")
	if view.Paths() != 2*keySmallMax || view.Len() != 4*keySmallMax || len(view.At("\x027")) != 2 {
		t.Fatal(view.Paths(), view.Len())
	}
	gone := mustUpdate(t, a, "s", Mutate[ORSet[string]](func(s *ORSetTx[string]) error { return s.Remove("7") }))
	mustApply(t, s, gone)
	if now := s.View("s"); now.Paths() != view.Paths() || len(now.At("\x027")) != 1 || len(view.At("\x027")) != 2 {
		t.Fatal("one sibling must remain, and the old view both")
	}
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
}

func TestKeysAndItemsInOrder(t *testing.T) {
	r := NewReplica(1, StoreOptions{})
	for _, k := range []string{"b/2", "a", "b/1", "c"} {
		addAll(t, r, k, "y", "x")
	}
	snap := r.Store().Snapshot()
	if got := slices.Collect(snap.Keys("b/")); !slices.Equal(got, []string{"b/1", "b/2"}) {
		t.Fatal(got)
	}
	var from []string
	for it := range snap.ItemsFrom("b/1", "\x02y") {
		from = append(from, it.Key+it.Path[1:])
	}
	if want := []string{"b/1y", "b/2x", "b/2y", "cx", "cy"}; !slices.Equal(from, want) {
		t.Fatal(from)
	}
	if r.Store().Snapshot() != snap {
		t.Fatal("nothing changed, yet the snapshot is another")
	}
	for range snap.Items() {
		break // stopping early is allowed
	}
}

func TestReaderUnderAPrefix(t *testing.T) {
	r := NewReplica(1, StoreOptions{})
	mustUpdate(t, r, "k", func(tx *Tx) error {
		in := tx.Under("\x50in/")
		for _, e := range []string{"b", "a"} {
			if err := (ORSet[string]{}).Mutator(in).Add(e); err != nil {
				return err
			}
		}
		return tx.Put("\x50out", "", nil)
	})
	in := r.Store().View("k").Under("\x50in/")
	s, err := ViewOf[ORSet[string]](in)
	if err != nil || !slices.Equal(slices.Collect(s.All()), []string{"a", "b"}) || s.Len() != 2 ||
		!s.Contains("a") || in.Len() != 2 {
		t.Fatal(s, err)
	}
	if _, err := ViewOf[GCounter](in); !errors.Is(err, ErrTypeClash) {
		t.Fatal(err)
	}
	if s, err := ViewOf[ORSet[string]](r.Store().View("k").Under("\x50no/")); err != nil || s.Len() != 0 ||
		!in.Under("\xff").Empty() {
		t.Fatal(s, err)
	}
}

// Adding and removing one element without end leaves nothing but a clock of one interval, in any
// part of the store.
func TestMetadataOfAddRemovePairsIsConstant(t *testing.T) {
	r := NewReplica(1, StoreOptions{})
	for range 10_000 {
		addAll(t, r, "s", "e")
		mustUpdate(t, r, "s", Mutate[ORSet[string]](func(s *ORSetTx[string]) error { return s.Remove("e") }))
	}
	st := r.Store()
	st.Trim(st.Clock().Clone())
	snap := st.Snapshot()
	if n := len(st.Clock().Append(nil)); n > 8 || st.LogLen() != 0 || snap.Len() != 0 || snap.KeyCount() != 0 ||
		st.live.index.Count() != 0 || len(st.Authors()) != 0 {
		t.Fatalf("clock of %d bytes, %v", n, st)
	}
	if st.log.places.Len() != 0 || len(st.log.origins) != 0 || st.Digest() != (Digest{}) {
		t.Fatalf("left over: %v", st)
	}
	if err := st.Check(); err != nil {
		t.Fatal(err)
	}
}

// Bytes follows what a key holds, in constant time.
func TestBytesFollowsWhatAKeyHolds(t *testing.T) {
	r := NewReplica(1, StoreOptions{})
	st := r.Store()
	for i := range 100 {
		before := st.Bytes("k")
		if _, err := r.Update("k", 0, func(tx *Tx) error {
			return tx.Put(fmt.Sprintf("\x02%03d", i), "payload", nil)
		}, nil); err != nil {
			t.Fatal(err)
		}
		if got := st.Bytes("k") - before; got != itemOverhead+4+7 {
			t.Fatalf("item %d counts %d bytes", i, got)
		}
	}
	if err := st.Check(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Update("k", 0, func(tx *Tx) error { _, err := tx.RemoveAll(""); return err }, nil); err != nil {
		t.Fatal(err)
	}
	if st.Bytes("k") != 0 || st.Bytes("none") != 0 {
		t.Fatal("an empty key has bytes")
	}
}
