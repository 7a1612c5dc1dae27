package passivation

import (
	"fmt"
	"slices"
	"testing"
)

// shard is a policy and its entities, as their owner sees them.
type shard struct {
	p     *Policy
	slots map[int]Slot
	ids   map[Slot]int
}

func newShard(s Strategy, limit int) *shard {
	return &shard{p: New(s, limit), slots: map[int]Slot{}, ids: map[Slot]int{}}
}

func hashOf(id int) uint64 { return uint64(id) * 0xbf58476d1ce4e5b9 }

// access notes an access and returns the entities that have to go for it.
func (h *shard) access(id int) (gone []int) {
	if s := h.slots[id]; s != 0 {
		h.p.Touch(s)
		return nil
	}
	s, evicted := h.p.Add(hashOf(id))
	if other, taken := h.ids[s]; taken {
		panic(fmt.Sprintf("slot %d of %d is given to %d", s, other, id))
	}
	h.slots[id], h.ids[s] = s, id
	return h.forget(evicted)
}

func (h *shard) forget(slots []Slot) (ids []int) {
	for _, s := range slots {
		id, ok := h.ids[s]
		if !ok {
			panic(fmt.Sprintf("slot %d is evicted and has no entity", s))
		}
		delete(h.ids, s)
		delete(h.slots, id)
		ids = append(ids, id)
	}
	return ids
}

func (h *shard) limit(n int) []int { return h.forget(h.p.SetLimit(n)) }

func (h *shard) remove(id int) {
	s := h.slots[id]
	delete(h.slots, id)
	delete(h.ids, s)
	h.p.Remove(s)
}

func (h *shard) active() []int {
	var ids []int
	for id := range h.slots {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (h *shard) accessAll(ids []int) (gone []int) {
	for _, id := range ids {
		gone = append(gone, h.access(id)...)
	}
	return gone
}

// span is the ids from a to b, down if b is below a.
func span(a, b int) (ids []int) {
	for id := a; id != b; {
		ids = append(ids, id)
		if a < b {
			id++
		} else {
			id--
		}
	}
	return append(ids, b)
}

func join(parts ...[]int) []int { return slices.Concat(parts...) }

// each repeats every id.
func each(n int, ids []int) (all []int) {
	for _, id := range ids {
		for range n {
			all = append(all, id)
		}
	}
	return all
}

// times repeats the row.
func times(n int, ids []int) (all []int) {
	for range n {
		all = append(all, ids...)
	}
	return all
}

// rising accesses the ids once, twice, three times, four times, once …
func rising(ids []int) (all []int) {
	for _, id := range ids {
		all = append(all, each((id-1)%4+1, []int{id})...)
	}
	return all
}

// act is one line of a script: accesses, a new limit, or removals.
type act struct {
	access []int
	limit  int
	remove []int
	gone   []int // the entities that go, in this order
	stay   []int // the entities that are active then; nil: not looked at
}

func play(t *testing.T, s Strategy, limit int, script []act) {
	t.Helper()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	h := newShard(s, limit)
	for i, a := range script {
		var gone []int
		if a.limit > 0 {
			gone = h.limit(a.limit)
		}
		for _, id := range a.remove {
			h.remove(id)
		}
		gone = append(gone, h.accessAll(a.access)...)
		if !slices.Equal(gone, a.gone) {
			t.Fatalf("line %d: gone %v, want %v", i, gone, a.gone)
		}
		if active := h.active(); a.stay != nil && !slices.Equal(active, slices.Sorted(slices.Values(a.stay))) {
			t.Fatalf("line %d: active %v, want %v", i, active, a.stay)
		}
		if h.p.Len() != len(h.slots) || h.p.Len() > h.p.Limit() {
			t.Fatalf("line %d: %d entities, limit %d, counted %d", i, len(h.slots), h.p.Limit(), h.p.Len())
		}
	}
}

func equal[T comparable](a, b []T) bool { return slices.Equal(a, b) }
