package replicator

import (
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/replicator/wire"
)

// R5: Of two items at one dot, which damage alone can bring about, all keep the same one, on their
// disks too; it is told, and that is the end of it.
func TestOneDotStandsForOneItem(t *testing.T) {
	w := newWorld(t, 1, durableD)
	first := w.start(1, nil, 1)
	first.step(Install{founded(1, 1)})
	first.put("d/s", "x", quorum.Local)
	first.put("d/s", "y", quorum.Local)
	w.quiet()
	damaged := newRows()
	damaged.clock = first.disk.clock.Clone()
	for d, it := range first.disk.items {
		if d.Seq == 1 {
			it.Payload += "?"
		}
		damaged.items[d] = it
		damaged.digest = damaged.digest.Plus(first.m.spaces[keyspace.Durable].Store.Hash(&it))
	}
	sound := first.disk
	first.crash()
	a, b := w.start(2, sound, 2), w.start(3, damaged, 3)
	w.install(founded(1, 2, 3))
	w.advance(10 * time.Second)
	w.same()
	dot := crdt.Dot{Origin: 1, Seq: 1}
	told := append(slices.Clone(a.parted), b.parted...)
	if len(told) == 0 || told[0].Key != "d/s" || told[0].Dot != dot || told[0].Dots != 1 {
		t.Fatalf("told: %v", told)
	}
	if a.disk.items[dot] != b.disk.items[dot] || len(a.disk.items) != 2 || len(b.disk.items) != 2 {
		t.Fatalf("the disks hold %v and %v", a.disk.items, b.disk.items)
	}
	before := w.repairs()
	w.advance(time.Minute)
	if after := w.repairs(); after != before || after.RepairsBroken > 0 {
		t.Fatalf("it goes on: %+v, then %+v", before, after)
	}
}

// What a peer sends and makes no sense is counted at once, and told once a minute.
func TestMalformedMessagesAreTold(t *testing.T) {
	w := cluster(t, 2, settings.Config{})
	a := w.nodes[0]
	for range 5 {
		a.step(&Receive{From: 2})
		a.step(&Receive{From: 2, Msg: &wire.Fetch{Epoch: 1}})
	}
	if a.m.site.Counters.Malformed != 10 || !slices.Equal(a.odd, []effect.Malformed{{Peer: 2, Count: 1}}) {
		t.Fatalf("counted %d, told %v", a.m.site.Counters.Malformed, a.odd)
	}
	w.advance(time.Minute)
	a.step(&Receive{From: 2})
	if !slices.Equal(a.odd, []effect.Malformed{{Peer: 2, Count: 1}, {Peer: 2, Count: 11}}) {
		t.Fatalf("told %v", a.odd)
	}
}
