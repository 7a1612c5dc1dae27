package replicator

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/operation"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/replicator/wire"
)

func TestConfigFaultsAreReportedTogether(t *testing.T) {
	err := settings.Config{DurableKeys: []string{""}, FrameMax: 1, RetryInterval: -1, PendingMax: -1}.Validate()
	for _, want := range []string{"Self", "DurableKeys", "FrameMax", "RetryInterval", "PendingMax"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not reported: %v", want, err)
		}
	}
	if _, err := New(settings.Config{}, rand.New(rand.NewPCG(1, 1)), Loaded{}); err == nil {
		t.Error("a machine without a self")
	}
}

func TestRowsThatDoNotBelongTogetherAreRefused(t *testing.T) {
	c := &crdt.Clock{}
	c.AddRange(1, 1, 1)
	_, err := New(settings.Config{Self: 2}, rand.New(rand.NewPCG(1, 1)), Loaded{Clock: c, Digest: crdt.Digest{1, 1}})
	if !errors.Is(err, crdt.ErrDigest) {
		t.Fatal(err)
	}
}

// The reference's subscriptions: the current value once, nothing if the key is absent, then every
// change; several updates in one step are one change.
func TestSubscriptionsGetTheValueAndThenChanges(t *testing.T) {
	w := cluster(t, 2, durableD)
	a, b := w.nodes[0], w.nodes[1]
	a.put("fruit", "x", quorum.All)
	a.put("d/fruit", "x", quorum.All)
	w.quiet()
	b.step(Subscribe{ID: 1, Key: "fruit"})
	b.step(Subscribe{ID: 2, Key: "absent"})
	b.step(Subscribe{ID: 3, Prefix: "", All: true})
	b.step(Subscribe{ID: 4, Prefix: "d/", All: true})
	expect := func(want ...string) {
		t.Helper()
		var got []string
		for _, c := range b.changes {
			got = append(got, fmt.Sprintf("%d %s %v%v", c.Sub, c.Key, elems(t, c.Reader), c.Deleted))
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("got  %q\nwant %q", got, want)
		}
		b.changes = nil
	}
	expect("1 fruit [x]false", "3 d/fruit [x]false", "3 fruit [x]false", "4 d/fruit [x]false")
	w.sever(1, 2)
	a.put("fruit", "y", quorum.Local)
	a.put("fruit", "z", quorum.Local)
	a.put("absent", "u", quorum.Local)
	w.mendAll()
	w.advance(time.Second)
	expect("2 absent [u]false", "3 absent [u]false", "1 fruit [x y z]false", "3 fruit [x y z]false")
	b.step(&Receive{
		1, &wire.Push{
			Epoch: 1, Groups: []crdt.Group{
				{{Dot: crdt.Dot{Origin: 1, Seq: 1}, Key: "fruit", Path: "\x02x", Puts: true}},
			},
		},
	})
	expect() // it was known
	b.step(Unsubscribe{ID: 3})
	b.step(Unsubscribe{ID: 1})
	b.step(Subscribe{ID: 2, Key: "d/fruit"}) // replaces
	b.changes = nil
	w.seq++
	a.step(Delete{ID: w.seq, Key: "d/fruit", Write: quorum.Majority})
	a.take("fruit", "x", quorum.Local)
	w.quiet()
	a.want(w.seq-1, nil)
	expect("2 d/fruit []true", "4 d/fruit []true")
	a.put("d/fruit", "again", quorum.Local)
	w.quiet()
	expect("2 d/fruit [again]false", "4 d/fruit [again]false")
}

// Nothing is sent when a step leaves a key as it was; prefixes that overlap are all served, and so
// is the key itself.
func TestSubscriptionsHearNothingWhenNothingChanged(t *testing.T) {
	w := cluster(t, 2, settings.Config{})
	a, b := w.nodes[0], w.nodes[1]
	for i, prefix := range []string{"", "a", "ab", "abc", "b"} {
		b.step(Subscribe{ID: uint64(i + 1), Prefix: prefix, All: true})
	}
	b.step(Subscribe{ID: 9, Key: "abc"})
	w.sever(1, 2)
	a.put("abc", "x", quorum.Local)
	a.take("abc", "x", quorum.Local)
	w.mendAll()
	w.advance(time.Second)
	w.same()
	if len(b.changes) > 0 {
		t.Errorf("it came and went in one message, and they hear %v", b.changes)
	}
	a.put("abc", "y", quorum.Local)
	w.quiet()
	var ids []uint64
	for _, c := range b.changes {
		ids = append(ids, c.Sub)
	}
	if slices.Sort(ids); !slices.Equal(ids, []uint64{1, 2, 3, 4, 9}) {
		t.Errorf("%v hear of a change", ids)
	}
	b.changes = nil
	b.step(Update{ID: 50, Key: "abc", Mutate: func(tx *crdt.Tx) error {
		if err := addOne.Mutator(tx).Add("z"); err != nil {
			return err
		}
		return addOne.Mutator(tx).Remove("z")
	}})
	if b.want(50, nil); len(b.changes) > 0 {
		t.Errorf("an update that ends where it began: %v", b.changes)
	}
}

// A key that grows beyond the threshold is told of, and again with each tenth, on each replica by
// itself; a deleted one begins anew.
func TestLargeKeysAreToldOf(t *testing.T) {
	for _, key := range []string{"s", "d/s"} {
		w := cluster(t, 2, settings.Config{DurableKeys: []string{"d/*"}, LargeKey: 1000})
		b, told := w.nodes[1], []int{}
		fill := func() {
			for i := range 100 {
				w.nodes[0].put(key, fmt.Sprintf("%084d", i), quorum.Local) // at least 100 bytes each
				w.nodes[0].put("small", "x", quorum.Local)
				w.quiet()
				for _, l := range b.large {
					if l.Key != key || l.Space != b.m.SpaceOf(key) {
						t.Fatalf("%v", l)
					}
					told = append(told, l.Bytes)
				}
				b.large = nil
			}
		}
		fill()
		if len(told) < 15 || len(told) > 30 || told[0] < 1000 || told[0] > 1200 {
			t.Fatalf("%s: told of %d", key, told)
		}
		for i := 1; i < len(told); i++ {
			if told[i] < told[i-1]+told[i-1]/10 {
				t.Fatalf("%s: told of %d", key, told)
			}
		}
		first := slices.Clone(told)
		w.seq++
		w.nodes[0].step(Delete{ID: w.seq, Key: key})
		w.quiet()
		told = nil
		if fill(); !slices.Equal(told, first) {
			t.Errorf("%s: after it was deleted %d, before %d", key, told, first)
		}
	}
	for _, r := range []struct{ most, want int }{{-1, 0}, {0, 1}} { // never; the default of 1 MiB
		w := cluster(t, 1, settings.Config{LargeKey: r.most})
		a := w.nodes[0]
		a.step(Update{ID: 1, Key: "s", Mutate: func(tx *crdt.Tx) error {
			for i := range 300 {
				if err := addOne.Mutator(tx).Add(fmt.Sprintf("%04000d", i)); err != nil {
					return err
				}
			}
			return nil
		}})
		if a.want(1, nil); len(a.large) != r.want ||
			r.want > 0 && (a.large[0].Bytes < 300*4000 || a.large[0].Bytes > 300*4100) {
			t.Errorf("LargeKey %d: %v", r.most, a.large)
		}
	}
}

// Type clash on one key: an error to the caller, never a crash.
func TestTypeClashIsAnErrorToTheCaller(t *testing.T) {
	w := cluster(t, 2, settings.Config{})
	a, b := w.nodes[0], w.nodes[1]
	a.put("s", "x", quorum.All)
	w.quiet()
	b.step(Update{ID: 100, Key: "s", Write: quorum.All, Mutate: func(tx *crdt.Tx) error {
		return crdt.GCounter{}.Mutator(tx).Increment(1)
	}})
	b.want(100, crdt.ErrTypeClash)
	// Two types are used at one key at the same time. Both remain, and every reader gets an error.
	w.sever(1, 2)
	a.put("n", "x", quorum.Local)
	b.step(Update{ID: 101, Key: "n", Mutate: func(tx *crdt.Tx) error {
		return crdt.GCounter{}.Mutator(tx).Increment(1)
	}})
	w.mendAll()
	w.advance(time.Second)
	w.same()
	if _, err := (crdt.ORSet[string]{}).View(a.m.Snapshot(keyspace.Volatile).View("n")); !errors.Is(err,
		crdt.ErrTypeClash) {
		t.Fatalf("a mixed key reads as %v", err)
	}
}

func TestErrorsOfCallersChangeNothing(t *testing.T) {
	w := cluster(t, 2, settings.Config{PendingMax: 2})
	a := w.nodes[0]
	mine := errors.New("mine")
	a.step(Update{ID: 1, Key: "s", Mutate: func(tx *crdt.Tx) error { _ = addOne.Mutator(tx).Add("x"); return mine }})
	a.step(Update{ID: 2, Key: "s", Mutate: func(*crdt.Tx) error { panic("oh") }})
	a.step(Update{ID: 3, Key: "", Mutate: func(*crdt.Tx) error { return nil }})
	a.step(Get{ID: 4, Key: "\xff"})
	a.want(1, mine)
	a.want(2, crdt.ErrPanic)
	a.want(3, crdt.ErrKey)
	a.want(4, crdt.ErrKey)
	a.wantSet("s")
	w.sever(1, 2)
	w.seq = 10
	a.want(a.put("s", "x", quorum.To(3)), operation.ErrNotEnoughReplicas)
	a.put("s", "x", quorum.All)
	a.put("s", "x", quorum.All)
	a.want(a.put("s", "x", quorum.All), operation.ErrOverloaded)
	a.want(a.get("s", quorum.All), operation.ErrOverloaded)
	if len(w.net) != 0 {
		t.Fatal("something was sent")
	}
}

// A write that changes nothing is as safe as one that changes something: what it found is known to
// enough.
func TestWriteThatChangesNothingWaitsForWhatItFound(t *testing.T) {
	w := cluster(t, 3, durableD)
	a, b := w.nodes[0], w.nodes[1]
	for i, key := range []string{"s", "d/s"} {
		w.isolate(3)
		a.put(key, "x", quorum.Local)
		w.quiet()
		w.isolate(2)
		if i == 1 {
			b.want(b.take(key, "absent", quorum.Local), nil)
		}
		id := b.take(key, "absent", quorum.Majority)
		w.advance(time.Second)
		b.wantOpen(id) // only 2 is known to have x: 1 has not said whether it has x
		w.mendAll()
		w.advance(2 * time.Second)
		b.want(id, nil)
	}
}

// A partition must not let the log, a queue or a buffer grow without bound.
func TestPartitionGrowsNothingWithoutBound(t *testing.T) {
	w := cluster(t, 3, settings.Config{LogMax: 100, PushWindow: 4096, BacklogMax: 16384, FrameMax: 1024})
	a, c := w.nodes[0], w.nodes[2]
	w.isolate(3)
	sent := 0
	w.drop = func(p packet) bool {
		if p.to == 3 && p.from == 1 {
			sent++
		}
		return false
	}
	for i := range 3000 {
		a.put("s", fmt.Sprintf("element %d", i%500), quorum.Local)
		if i%10 == 0 {
			w.advance(5 * time.Millisecond)
		}
	}
	w.advance(time.Second)
	s := a.m.spaces[keyspace.Volatile]
	if s.Store.LogLen() > 100 || s.pusher.Outbox().Bytes() > 2*16384 ||
		s.Peers[1].Links[keyspace.Volatile].Window.Flight() > 2 {
		t.Fatalf("log %d, own %d bytes", s.Store.LogLen(), s.pusher.Outbox().Bytes())
	}
	if sent > 20 {
		t.Fatalf("%d messages for no peer", sent)
	}
	w.mendAll()
	w.advance(10 * time.Second)
	w.same()
	if c.m.site.Counters.Repairs == 0 {
		t.Fatal("no repair was needed?")
	}
}

// The log is trimmed when every member has acknowledged what is in it.
func TestLogIsTrimmedAtStability(t *testing.T) {
	w := cluster(t, 3, durableD)
	for i := range 50 {
		w.nodes[i%3].put("s", fmt.Sprint(i), quorum.Local)
		w.nodes[i%3].put("d/s", fmt.Sprint(i), quorum.Local)
	}
	w.quiet()
	w.isolate(3)
	w.advance(30 * time.Second)
	if n := w.nodes[0].m.spaces[keyspace.Durable].Store.LogLen(); n == 0 {
		t.Fatal("trimmed, though one peer has not said that it has the log")
	}
	w.mendAll()
	w.advance(60 * time.Second)
	for _, n := range w.nodes {
		for _, s := range n.m.spaces {
			if s.Store.LogLen() > 0 {
				t.Fatalf("%s: %d events in the %v log", wire.Short(n.id), s.Store.LogLen(), s.ID)
			}
		}
	}
}

// A replica that is alone keeps no log: there is no member to push it to, and one that joins is
// sent the items.
func TestLogOfOneAloneIsTrimmed(t *testing.T) {
	w := cluster(t, 1, durableD)
	for i := range 50 {
		w.nodes[0].put("s", fmt.Sprint(i), quorum.Local)
		w.nodes[0].put("d/s", fmt.Sprint(i), quorum.Local)
	}
	w.advance(2 * time.Second)
	for _, s := range w.nodes[0].m.spaces {
		if s.Store.LogLen() > 0 {
			t.Errorf("%d events in the %v log", s.Store.LogLen(), s.ID)
		}
	}
	w.start(2, nil, 2)
	w.install(with(founded(2, 1), 2))
	w.advance(5 * time.Second)
	w.same()
	if !w.nodes[1].joined {
		t.Error("a learner does not catch up without the log")
	}
}

// LogBytesMax bounds the log while a peer is away, as LogMax does.
func TestLogIsBoundedInBytes(t *testing.T) {
	for _, r := range []struct{ bytesMax, least, most int }{{0, 50, 50}, {2000, 1, 10}} {
		w := cluster(t, 2, settings.Config{LogBytesMax: r.bytesMax})
		w.isolate(2)
		for i := range 50 {
			w.nodes[0].put("s", fmt.Sprintf("%0400d", i), quorum.Local)
		}
		if n := w.nodes[0].m.spaces[keyspace.Volatile].Store.LogLen(); n < r.least || n > r.most {
			t.Errorf("with LogBytesMax %d the log holds %d events, want %d to %d", r.bytesMax, n, r.least, r.most)
		}
	}
}
