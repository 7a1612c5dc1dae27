package persistencetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

func snapshot(id protocol.EntityID, seq uint64, body string) persistence.Snapshot {
	e := event(seq, body)
	return persistence.Snapshot{Entity: id, Seq: seq, Name: e.Name, Version: e.Version, Body: []byte(body), At: e.At}
}

func sameSnapshot(a, b persistence.Snapshot) bool {
	return a.Entity == b.Entity && a.Seq == b.Seq && a.Name == b.Name && a.Version == b.Version &&
		a.Body != nil && bytes.Equal(a.Body, b.Body) && a.At.Equal(b.At)
}

func saved(t tb, d Door, h persistence.Hosting, snapshots ...persistence.Snapshot) {
	t.Helper()
	refused, err := d.Snapshots.SaveSnapshots(t.Context(), h, snapshots)
	if err != nil || len(refused) > 0 {
		t.Fatalf("save: %v, refused %v", err, refused)
	}
}

// newest loads the newest snapshot below a number.
func newest(t tb, d Door, h persistence.Hosting, id protocol.EntityID, below uint64) (found []persistence.Snapshot) {
	t.Helper()
	must(t, d.Snapshots.LoadSnapshots(t.Context(), h, []persistence.SnapshotRead{{Entity: id, Below: below}},
		func(i int, s persistence.Snapshot) error {
			s.Body = bytes.Clone(s.Body)
			found = append(found, s)
			return nil
		}))
	if len(found) > 1 {
		t.Fatalf("%d snapshots of one read", len(found))
	}
	return found
}

// snapshotHistories saves, deletes and loads, against a model that is a map of numbers.
func snapshotHistories(l *law) {
	rapid.Check(l.tb, func(rt *rapid.T) {
		l.next()
		h := l.hosting(5, 1)
		must(rt, l.store.A.Snapshots.Fence(rt.Context(), h))
		model := map[protocol.EntityID]map[uint64]persistence.Snapshot{}
		for _, id := range modelIDs {
			model[id] = map[uint64]persistence.Snapshot{}
		}
		seqs := rapid.OneOf(rapid.Uint64Range(1, 9), rapid.Uint64Range(1<<40, 1<<40+3))
		for n := range rapid.IntRange(1, 20).Draw(rt, "calls") {
			door := rapid.SampledFrom(l.doors()).Draw(rt, "door")
			if rapid.IntRange(0, 3).Draw(rt, "delete") == 0 {
				id, upTo := rapid.SampledFrom(modelIDs).Draw(rt, "id"), seqs.Draw(rt, "up to")
				must(rt, door.Snapshots.DeleteSnapshots(rt.Context(), h, id, upTo))
				for seq := range model[id] { // order: the same for any
					if seq <= upTo {
						delete(model[id], seq)
					}
				}
				continue
			}
			var some []persistence.Snapshot
			for _, id := range modelIDs {
				if rapid.Bool().Draw(rt, "save") {
					s := snapshot(id, seqs.Draw(rt, "seq"), fmt.Sprint(n))
					some, model[id][s.Seq] = append(some, s), s
				}
			}
			saved(rt, door, h, some...)
		}
		if rapid.IntRange(0, 4).Draw(rt, "stop") == 0 {
			l.again()
		}
		for _, id := range modelIDs {
			compareSnapshots(rt, l, h, id, model[id])
		}
	})
}

func compareSnapshots(
	rt *rapid.T, l *law, h persistence.Hosting, id protocol.EntityID, model map[uint64]persistence.Snapshot,
) {
	for _, below := range []uint64{0, 1, 2, 5, 9, 1 << 40, 1<<40 + 2, math.MaxUint64} {
		var want []persistence.Snapshot
		for seq, s := range model { // order: the highest counts
			if (below == 0 || seq < below) && (want == nil || seq > want[0].Seq) {
				want = []persistence.Snapshot{s}
			}
		}
		if got := newest(rt, l.store.B, h, id, below); !slices.EqualFunc(got, want, sameSnapshot) {
			rt.Fatalf("entity %v below %d: %v, want %v", id, below, got, want)
		}
	}
}

func snapshotsFenced(l *law) {
	old, now := l.hosting(1, 10), l.hosting(1, 11)
	must(l, l.store.A.Snapshots.Fence(l.Context(), old))
	saved(l, l.store.A, old, snapshot("e", 4, "old"))
	must(l, l.store.B.Snapshots.Fence(l.Context(), now))
	fencedSnapshots(l, l.store.A, old)
	l.again()
	fencedSnapshots(l, l.store.B, old)
	if got := newest(l, l.store.B, now, "e", 0); len(got) != 1 || !sameSnapshot(got[0], snapshot("e", 4, "old")) {
		l.Fatalf("got %v", got)
	}
	saved(l, l.store.A, l.hosting(2, 0), snapshot("of another shard", 1, "x"))
}

func fencedSnapshots(t tb, d Door, h persistence.Hosting) {
	t.Helper()
	_, err := d.Snapshots.SaveSnapshots(t.Context(), h, []persistence.Snapshot{snapshot("e", 5, "late")})
	is(t, "SaveSnapshots", err, persistence.ErrFenced)
	err = d.Snapshots.LoadSnapshots(t.Context(), h, []persistence.SnapshotRead{{Entity: "e"}},
		func(int, persistence.Snapshot) error { return errors.New("a snapshot for a hosting that is over") })
	is(t, "LoadSnapshots", err, persistence.ErrFenced)
	is(t, "DeleteSnapshots", d.Snapshots.DeleteSnapshots(t.Context(), h, "e", 9), persistence.ErrFenced)
	is(t, "Fence", d.Snapshots.Fence(t.Context(), h), persistence.ErrFenced)
}

// snapshotLimits: what is above a limit is refused by itself, strange ids and empty bodies are not.
func snapshotLimits(l *law) {
	h := l.hosting(1, 1)
	must(l, l.store.A.Snapshots.Fence(l.Context(), h))
	body, name := snapshot("body", 1, ""), snapshot("name", 1, "")
	body.Body, name.Name = make([]byte, persistence.BodyMax+1), strings.Repeat("n", persistence.NameMax+1)
	some := []persistence.Snapshot{body, name}
	for _, id := range strangeIDs {
		some = append(some, snapshot(id, 1, ""))
	}
	most := snapshot("most", math.MaxInt32, strings.Repeat("x", persistence.BodyMax))
	refused, err := l.store.A.Snapshots.SaveSnapshots(l.Context(), h, append(some, most))
	must(l, err)
	if len(refused) != 2 || refused[0].Index+refused[1].Index != 1 {
		l.Fatalf("refused %v, want the first two", refused)
	}
	for _, r := range refused {
		is(l, "refusal", r.Err, persistence.ErrTooLarge)
	}
	l.again()
	for _, s := range append(some[2:], most) {
		if got := newest(l, l.store.B, h, s.Entity, 0); len(got) != 1 || !sameSnapshot(got[0], s) {
			l.Fatalf("entity %v: %d snapshots", s.Entity, len(got))
		}
	}
	_, err = l.store.A.Snapshots.SaveSnapshots(l.Context(), h, make([]persistence.Snapshot, persistence.WritesMax+1))
	is(l, "a call with too many snapshots", err, persistence.ErrTooLarge)
}

func snapshotsGivenUp(l *law) {
	h := l.hosting(1, 1)
	must(l, l.store.A.Snapshots.Fence(l.Context(), h))
	ended, cancel := context.WithCancel(l.Context())
	cancel()
	_, err := l.store.A.Snapshots.SaveSnapshots(ended, h, []persistence.Snapshot{snapshot("e", 1, "x")})
	is(l, "SaveSnapshots", err, context.Canceled)
	err = l.store.A.Snapshots.LoadSnapshots(ended, h, []persistence.SnapshotRead{{Entity: "e"}},
		func(int, persistence.Snapshot) error { return nil })
	is(l, "LoadSnapshots", err, context.Canceled)
	is(l, "DeleteSnapshots", l.store.A.Snapshots.DeleteSnapshots(ended, h, "e", 1), context.Canceled)
	saved(l, l.store.B, h, snapshot("e", 1, "x"))
}
