package proptest

import (
	"fmt"
	"iter"
	mathbits "math/bits"

	"github.com/coterie-go/coterie/crdt"
)

// Event is one operation that was carried out.
type Event[O any] struct {
	Op     O
	Origin crdt.Origin // of the replica that did it; a replica that restarts takes a new one
	// the wall time that its Update was given, 0: none; clocks of replicas differ and may stand still
	Wall int64
	Seen History[O] // what that replica had seen before, earlier operations of the same Update too

	id int
}

func (e *Event[O]) String() string { return fmt.Sprint(e.Op) }

// History is the operations on one key that a replica has seen. Delivery is not causal, so an event
// can be in a history that lacks some of what the event itself had seen; only what it removed is
// there for certain.
type History[O any] struct {
	past *events[O]
	key  string
	seen bits
}

// All yields the events, each after all that it had seen.
func (h History[O]) All() iter.Seq[*Event[O]] {
	return func(yield func(*Event[O]) bool) {
		for id := range h.seen.all() {
			if e := h.past.list[id]; h.past.keys[id] == h.key && !yield(e) {
				return
			}
		}
	}
}

// Has reports whether e is in the history.
func (h History[O]) Has(e *Event[O]) bool { return h.seen.has(e.id) }

// Live returns, in the order of All, the events that no event of the history has taken away. An
// event takes away those for which takes(it, earlier) holds and that were live where and when it
// was made; what it had not seen, or seen removed already, it does not touch. With takes "is at the
// same place", the puts among the live events are what an observed-remove type holds there: the
// model of a set of tags is
//
//	for _, e := range h.Live(func(later, earlier *proptest.Event[op]) bool { return later.Op.Tag == earlier.Op.Tag }) {
//		if e.Op.Adds {
//			tags[e.Op.Tag] = true
//		}
//	}
func (h History[O]) Live(takes func(later, earlier *Event[O]) bool) []*Event[O] {
	var gone bits
	takers := make([]bits, h.seen.end()) // of each event, those that took it away
	for id := range takers {
		later := h.past.list[id]
		if h.past.keys[id] != h.key {
			continue
		}
		for earlier := range later.Seen.All() {
			if takers[earlier.id].meets(later.Seen.seen) || !takes(later, earlier) {
				continue // it had been taken away there before, or stays
			}
			takers[earlier.id] = takers[earlier.id].set(id)
			if h.Has(later) {
				gone = gone.set(earlier.id)
			}
		}
	}
	var live []*Event[O]
	for e := range h.All() {
		if !gone.has(e.id) {
			live = append(live, e)
		}
	}
	return live
}

// past is the events of a world, without their type.
type past interface {
	add(op any, key string, o crdt.Origin, wall int64, seen bits) int
	cut(n int) // forgets all but the first n
	len() int
	reads(key string, seen bits) any
}

type events[O any] struct {
	model func(History[O]) any
	list  []*Event[O]
	keys  []string
}

func (p *events[O]) add(op any, key string, o crdt.Origin, wall int64, seen bits) int {
	id := len(p.list)
	p.list = append(p.list, &Event[O]{Op: op.(O), Origin: o, Wall: wall, Seen: History[O]{p, key, seen}, id: id})
	p.keys = append(p.keys, key)
	return id
}

func (p *events[O]) cut(n int) { p.list, p.keys = p.list[:n], p.keys[:n] }

func (p *events[O]) len() int { return len(p.list) }

func (p *events[O]) reads(key string, seen bits) any { return p.model(History[O]{p, key, seen}) }

// bits is a set of event ids. Those that are handed on are not changed any more.
type bits []uint64

func (b bits) has(id int) bool { return id>>6 < len(b) && b[id>>6]>>(id&63)&1 != 0 }

// end is above all ids of the set.
func (b bits) end() int {
	n := len(b) << 6
	for n > 0 && !b.has(n-1) {
		n--
	}
	return n
}

// set adds an id in place.
func (b bits) set(id int) bits {
	for len(b) <= id>>6 {
		b = append(b, 0)
	}
	b[id>>6] |= 1 << (id & 63)
	return b
}

// join adds a set in place.
func (b bits) join(o bits) bits {
	for len(b) < len(o) {
		b = append(b, 0)
	}
	for i, w := range o {
		b[i] |= w
	}
	return b
}

// meets reports whether the sets have an id in common.
func (b bits) meets(o bits) bool {
	for i := range min(len(b), len(o)) {
		if b[i]&o[i] != 0 {
			return true
		}
	}
	return false
}

// with and or return new sets.
func (b bits) with(id int) bits { return append(bits(nil), b...).set(id) }
func (b bits) or(o bits) bits   { return append(bits(nil), b...).join(o) }

func (b bits) all() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, w := range b {
			for ; w != 0; w &= w - 1 {
				if !yield(i<<6 + mathbits.TrailingZeros64(w)) {
					return
				}
			}
		}
	}
}
