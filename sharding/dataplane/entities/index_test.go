package entities

import (
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/sharding/linear"
	"github.com/coterie-go/coterie/sharding/passivation"
)

func TestIndexAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var x index
		model := map[string]*Entity{}
		id := func(t *rapid.T) string { return strconv.Itoa(rapid.IntRange(0, 300).Draw(t, "id")) }
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				for range rapid.IntRange(1, 50).Draw(t, "n") {
					if id := id(t); model[id] == nil {
						model[id] = &Entity{ID: id}
						x.add(model[id])
					}
				}
			},
			"remove": func(t *rapid.T) {
				for range rapid.IntRange(1, 50).Draw(t, "n") {
					if e := model[id(t)]; e != nil {
						delete(model, e.ID)
						x.remove(e)
						x.remove(e) // that it is not there any more is no harm
						if e.sibling.Load() != nil {
							t.Fatal("what is out of the index keeps another")
						}
					}
				}
			},
			"clear": func(t *rapid.T) {
				x.clear()
				clear(model)
			},
			"": func(t *rapid.T) {
				for id := range 301 {
					id := strconv.Itoa(id)
					found, byBytes := x.Find(id), x.findBytes(x.hash(id), []byte(id))
					if found != model[id] || byBytes != model[id] {
						t.Fatalf("%q: found %p and %p, want %p", id, found, byBytes, model[id])
					}
				}
				all := slices.Collect(x.all())
				if len(all) != len(model) || x.len != len(model) {
					t.Fatalf("%d listed, %d counted, want %d", len(all), x.len, len(model))
				}
				for _, e := range all {
					if model[e.ID] != e {
						t.Fatalf("%q is listed and not there", e.ID)
					}
				}
			},
		})
	})
}

// The longest chain stays short while the index grows, so that finding does not come to cost more.
func TestIndexGrows(t *testing.T) {
	var x index
	for i := range 100_000 {
		x.add(&Entity{ID: "entity-" + strconv.Itoa(i)})
	}
	longest := 0
	b := x.buckets.Load()
	for i := range b.n.Load() {
		n := 0
		for e := b.at(i).Load(); e != nil; e = e.sibling.Load() {
			n++
		}
		longest = max(longest, n)
	}
	if longest > 30 { // e⁻²·2³⁰/30! of one bucket has so many by chance
		t.Errorf("a chain has %d entities", longest)
	}
}

// TestLargeIndex: entities are found by their ids, and no others, also where chains are divided by the tags; whether
// there was room for them before they came or not.
func TestLargeIndex(t *testing.T) {
	const n = 3 << linear.TagFrom
	for _, expected := range []int{0, 1, n / 2, n} {
		var x index
		x.expect(expected)
		es := make([]Entity, n)
		for i := range es {
			es[i].ID = strconv.Itoa(i)
			x.add(&es[i])
		}
		x.expect(2 * n) // changes nothing, now that there are some
		if got := int(x.buckets.Load().n.Load()); got != n || x.len != n {
			t.Fatalf("%d buckets for %d entities of %d that were expected", got, x.len, expected)
		}
		for i := range es {
			if i%2 == 0 {
				x.remove(&es[i])
			}
		}
		for i := range es {
			found := x.Find(es[i].ID)
			if i%2 == 0 && found != nil || i%2 == 1 && found != &es[i] {
				t.Fatalf("%q is found as %p, it is %p", es[i].ID, found, &es[i])
			}
		}
	}
}

// TestBitsOfHashes: a bit that the tag has is that of the hash, as any other is.
func TestBitsOfHashes(t *testing.T) {
	var x index
	for i := range 100 {
		e := Entity{ID: strconv.Itoa(i)}
		x.add(&e)
		for bit := uint32(1); bit != 0; bit <<= 1 {
			if got, want := x.has(&e, bit), uint32(x.hash(e.ID))&bit != 0; got != want {
				t.Fatalf("bit %x of %x is %v", bit, x.hash(e.ID), got)
			}
		}
	}
}

// Entities that stay are found while others come and go and chains are divided, and nothing is
// found under an id that is not its own.
func TestFindWhileIndexChanges(t *testing.T) {
	const stay, finders, churn = 40, 4, 20_000
	var s Shard
	ids := make([]string, stay)
	for i := range ids {
		ids[i] = "stays-" + strconv.Itoa(i)
		s.Entities.add(&Entity{ID: ids[i]})
	}
	var wg sync.WaitGroup
	var ended atomic.Bool
	for f := range finders {
		wg.Go(func() {
			for i := f; !ended.Load(); i++ {
				id := ids[i%stay]
				if e := s.Find(id); e == nil || e.ID != id {
					t.Errorf("%q was missed", id)
					return
				}
				come := strconv.Itoa(i % churn)
				if e := s.Find(come); e != nil && e.ID != come {
					t.Errorf("%q was found under %q", e.ID, come)
					return
				}
			}
		})
	}
	var come []*Entity
	for i := range churn {
		e := &Entity{ID: strconv.Itoa(i)}
		s.Mu.Lock()
		s.Entities.add(e)
		if come = append(come, e); i%2 == 1 {
			s.Entities.remove(come[0])
			come = come[1:]
		}
		s.Mu.Unlock()
	}
	ended.Store(true)
	wg.Wait()
}

// A mark keeps its tag whatever ticks are noted, and counts the ticks since over the end of its bits.
func TestMark(t *testing.T) {
	var m mark
	m.setTag(0xa5)
	for _, tick := range []uint32{0, 1, 1<<tickBits - 1, 1 << tickBits, 1<<32 - 1} {
		m.see(tick)
		if m.tag() != 0xa5 || m.unseen(tick) != 0 || m.unseen(tick+7) != 7 {
			t.Errorf("tick %d: tag %x, %d and %d ticks since", tick, m.tag(), m.unseen(tick), m.unseen(tick+7))
		}
	}
	if passivation.IdleLooksMax >= 1<<(tickBits-1)+1 {
		t.Error("an entity may be idle for longer than a mark can count")
	}
}
