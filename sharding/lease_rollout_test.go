package sharding

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/sharding/dataplane/lease"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Nodes that take no leases run a type together, whatever stores they know. The coordinator tells which differ.
func TestAnnouncedLeases(t *testing.T) {
	store := locks.NewMemory()
	none, announced := cartType(&cartLog{}), cartType(&cartLog{})
	announced.Leases = Leases{Shards: store, Coordinator: store, Announced: true}
	for _, types := range [][2]EntityType[message_]{{none, announced}, {announced, none}} {
		inBubble(t, func(t *testing.T, w *world) {
			var regions []*Region[message_]
			var notes [2]noted
			for i, typ := range types {
				typ.Shards, typ.OnEvent = 4, onNotes(notes[i].add)
				regions = append(regions, start(w.join("backend"), typ))
			}
			w.install()
			for i := range 20 {
				id := fmt.Sprint("cart-", i)
				if _, err := Ask(within(t, time.Minute), regions[i%2].Ref(id), total{}); err != nil {
					t.Fatal(err)
				}
			}
			for _, g := range regions {
				if g.Stats().Shards == 0 {
					t.Error("a node hosts nothing")
				}
			}
			for s := range uint32(4) {
				if name := lease.ShardName("", "Cart", s); !free(t, store, name) {
					t.Errorf("%s is held", name)
				}
			}
			if n := notes[0].count(protocol.LeasesDiffer); n != 1 || notes[1].count(protocol.LeasesDiffer) > 0 {
				t.Errorf("that leases differ was told %d times", n)
			}
		})
	}
}

// A node that takes leases and one that knows of none do not run a type together. One that has the same store and takes
// none gets on with it.
func TestTakenLeases(t *testing.T) {
	store := locks.NewMemory()
	inBubble(t, func(t *testing.T, w *world) {
		taken, _ := leased(store)
		demandRefused(t, w, taken, cartType(&cartLog{}),
			fmt.Sprintf("Leases.Shards is not set here and store %s with the coordinator", store.ID()))
	})
	inBubble(t, func(t *testing.T, w *world) {
		taken, seen := leased(store)
		announced, also := leased(store)
		announced.Leases.Announced = true
		start(w.join("backend"), taken)
		b := start(w.join("backend"), announced)
		w.install()
		for i := range 20 {
			if _, err := Ask(within(t, time.Minute), b.Ref(fmt.Sprint("cart-", i)), total{}); err != nil {
				t.Fatal(err)
			}
		}
		refused := seen.count(protocol.TypeMismatch) + also.count(protocol.TypeMismatch)
		if seen.count(protocol.LeasesDiffer) != 1 || refused > 0 {
			t.Errorf("told: %v and %v", seen.events, also.events)
		}
	})
}

// Announced without a store is a mistake, and so is a store whose ID says that it is announced.
func TestInvalidAnnouncedLeases(t *testing.T) {
	typ := cartType(&cartLog{})
	typ.Leases.Announced = true
	if err := typ.Validate(); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "Leases.Announced") {
		t.Error(err)
	}
	typ.Leases.Shards = aliased{locks.NewMemory(), "announced: it"}
	if err := typ.Validate(); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "begins with") {
		t.Error(err)
	}
	typ.Leases.Shards = aliased{locks.NewMemory(), strings.Repeat("x", 120)}
	if err := typ.Validate(); !errors.Is(err, ErrConfig) ||
		!strings.Contains(err.Error(), "has 120 bytes, and while Leases.Announced is set it may have 117") {
		t.Error(err)
	}
	if typ.Leases.Announced = false; typ.Validate() != nil {
		t.Errorf("a store with a long ID: %v", typ.Validate())
	}
}

// aliased is a store with another ID.
type aliased struct {
	locks.Store
	id string
}

func (n aliased) ID() string { return n.id }
