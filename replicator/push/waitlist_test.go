package push

import (
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
)

// single returns a group of one event.
func single(origin crdt.Origin, seq uint64) crdt.Group {
	return crdt.Group{{Dot: crdt.Dot{Origin: origin, Seq: seq}, Key: "k"}}
}

// A group that is applied lets those go on that wait for it, whatever the order in which they came.
func TestWhatWaitsForWhatWaited(t *testing.T) {
	var w WaitList
	at := time.Unix(1000, 0)
	for seq := uint64(4); seq > 1; seq-- {
		if got := w.Add(single(1, seq), 9, crdt.Dot{Origin: 1, Seq: seq - 1}, 1<<20, at); got != WaitsNow {
			t.Fatalf("event %d: %v", seq, got)
		}
	}
	applied := []uint64{1}
	has := func(d crdt.Dot) bool { return slices.Contains(applied, d.Seq) }
	w.Release(has, func(_ crdt.Origin, g crdt.Group) (needs crdt.Dot, waits bool) {
		applied = append(applied, g[0].Dot.Seq)
		return needs, false
	})
	if !slices.Equal(applied, []uint64{1, 2, 3, 4}) || w.Len() != 0 || w.Bytes() != 0 || !w.AskAt().IsZero() {
		t.Errorf("applied %d, %d of %d bytes wait, to be asked for at %v", applied, w.Len(), w.Bytes(), w.AskAt())
	}
}

// The groups of an origin that was removed give their room back.
func TestForgottenGroupsGiveTheirRoomBack(t *testing.T) {
	var w WaitList
	at, most := time.Unix(1000, 0), 2*Weigh(single(1, 2))
	add := func(origin crdt.Origin, seq uint64) Waits {
		return w.Add(single(origin, seq), 9, crdt.Dot{Origin: origin, Seq: seq - 1}, most, at)
	}
	if add(1, 2) != WaitsNow || add(2, 2) != WaitsNow || add(2, 3) != WaitsNot {
		t.Fatalf("%d groups of %d bytes wait", w.Len(), w.Bytes())
	}
	w.Forget(func(o crdt.Origin) bool { return o == 1 })
	if w.Len() != 1 || w.Bytes() != most/2 || add(2, 3) != WaitsNow {
		t.Errorf("%d groups of %d bytes wait, at most %d may", w.Len(), w.Bytes(), most)
	}
}
