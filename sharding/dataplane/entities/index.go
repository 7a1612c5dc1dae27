package entities

import (
	"iter"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"github.com/coterie-go/coterie/sharding/linear"
)

// index finds the entities of a shard by id. A look-up takes no lock; a change of the index holds
// the shard's lock. It is a linear hash table, which grows by one bucket when an entity is added,
// so that no addition waits for more than one chain to be divided. The chains run through the
// entities.
//
// While a chain is divided find may miss an entity that is in it. A caller that misses one looks
// again under the lock. What is found has the id. And find ends. An entity is only ever linked to
// one that was linked into its chain before it. A division turns links round, and takes one entity
// at a time out of the old chain. So from an entity that the division has not reached, a link leads
// on. From one that it has reached, a link leads only to an entity that it had reached before.
type index struct {
	buckets atomic.Pointer[buckets] // nil: empty
	seed    uint64
	len     int
}

// buckets are kept in segments, the first two of firstBuckets, each further one as large as all
// before it, so that they never move.
type buckets struct {
	segments [][]atomic.Pointer[Entity]
	n        atomic.Uint32 // in use
}

const firstBuckets = 8

func (b *buckets) at(i uint32) *atomic.Pointer[Entity] {
	k := bits.Len32(i / firstBuckets)
	if k > 0 {
		i -= firstBuckets << (k - 1)
	}
	return &b.segments[k][i]
}

// of is the bucket of a hash.
func (b *buckets) of(h hash) *atomic.Pointer[Entity] {
	return b.at(linear.Chain(uint32(h), b.n.Load()))
}

// hash is that of an id: the bucket goes by the lowest bits. An entity keeps the tag alone: by it few others are
// compared with an id, and a large index is divided.
type hash uint64

// tag is the part of a hash that an entity keeps.
func (h hash) tag() uint8 { return uint8(h >> linear.TagFrom) }

const tagBits = 8

// mark is the tag of an entity, and the latest tick of the region in which it has handled a message. The two
// share 32 bits, so that a look-up needs nothing of the mailbox, which the worker may have.
type mark struct{ bits atomic.Uint32 }

const tickBits = 32 - tagBits // of a mark; passivation.IdleLooksMax is below half of what they count

func (m *mark) tag() uint8 { return uint8(m.bits.Load() >> tickBits) }

// setTag sets the tag of an entity that no worker has yet.
func (m *mark) setTag(tag uint8) { m.bits.Store(uint32(tag) << tickBits) }

// see notes a tick. It is the worker's. What is noted already is not written: senders look at the line of it.
func (m *mark) see(tick uint32) {
	was := m.bits.Load()
	if now := was&^(1<<tickBits-1) | tick&(1<<tickBits-1); now != was {
		m.bits.Store(now)
	}
}

// unseen is how many ticks have passed since the one that was noted.
func (m *mark) unseen(tick uint32) uint32 { return (tick - m.bits.Load()) & (1<<tickBits - 1) }

// chain is the entities among which one with that hash is.
func (x *index) chain(h hash) *Entity {
	b := x.buckets.Load()
	if b == nil {
		return nil
	}
	return b.of(h).Load()
}

// hash is that of an id. The seed is random, so that no peer can choose ids that share a chain.
func (x *index) hash(id string) hash { return hash(xxh3.HashStringSeed(id, x.seed)) }

func (x *index) Find(id string) *Entity {
	h := x.hash(id)
	for e, tag := x.chain(h), h.tag(); e != nil; e = e.sibling.Load() {
		if e.mark.tag() == tag && e.ID == id {
			return e
		}
	}
	return nil
}

// findBytes is find for an id in a frame, with its hash.
func (x *index) findBytes(h hash, id []byte) *Entity {
	for e, tag := x.chain(h), h.tag(); e != nil; e = e.sibling.Load() {
		if e.mark.tag() == tag && e.ID == string(id) {
			return e
		}
	}
	return nil
}

// expect makes the buckets for so many entities, if there are none yet: then no chain is divided when they come.
func (x *index) expect(n int) {
	if x.buckets.Load() != nil {
		return
	}
	b, size := &buckets{}, firstBuckets
	b.segments = [][]atomic.Pointer[Entity]{make([]atomic.Pointer[Entity], size)}
	for ; size < n; size *= 2 {
		b.segments = append(b.segments, make([]atomic.Pointer[Entity], size))
	}
	b.n.Store(uint32(max(n, firstBuckets)))
	x.buckets.Store(b)
}

// add takes an entity whose id is not there yet.
func (x *index) add(e *Entity) {
	x.expect(1)
	b := x.buckets.Load()
	h := x.hash(e.ID)
	e.mark.setTag(h.tag())
	head := b.of(h)
	e.sibling.Store(head.Load())
	head.Store(e)
	if x.len++; x.len > int(b.n.Load()) {
		x.split(b)
	}
}

// split divides one chain into that of its bucket and that of the next bucket.
func (x *index) split(b *buckets) {
	n := b.n.Load()
	divided, bit := linear.Split(n)
	if n == bit { // as many as the segments have
		b = &buckets{segments: append(b.segments[:len(b.segments):len(b.segments)], make([]atomic.Pointer[Entity], n))}
		b.n.Store(n)
		x.buckets.Store(b)
	}
	from := b.at(divided)
	var stay, move *Entity
	for e := from.Load(); e != nil; {
		next := e.sibling.Load()
		if !x.has(e, bit) {
			e.sibling.Store(stay)
			stay = e
		} else {
			e.sibling.Store(move)
			move = e
		}
		e = next
	}
	from.Store(stay)
	b.at(n).Store(move)
	b.n.Store(n + 1)
}

// has reports whether the hash of an entity's id has a bit.
func (x *index) has(e *Entity, bit uint32) bool {
	if set, known := linear.Tagged(uint32(e.mark.tag()), tagBits, bit); known {
		return set
	}
	return uint32(x.hash(e.ID))&bit != 0
}

// remove takes an entity out, if it is there.
func (x *index) remove(e *Entity) {
	b := x.buckets.Load()
	if b == nil {
		return
	}
	for at := b.of(x.hash(e.ID)); at.Load() != nil; at = &at.Load().sibling {
		if at.Load() == e {
			at.Store(e.sibling.Load())
			e.sibling.Store(nil) // what is kept of it keeps no others
			x.len--
			return
		}
	}
}

// all lists the entities, in no order. The shard's lock is held meanwhile.
func (x *index) all() iter.Seq[*Entity] {
	return func(yield func(*Entity) bool) {
		b := x.buckets.Load()
		if b == nil {
			return
		}
		for i := range b.n.Load() {
			for e := b.at(i).Load(); e != nil; e = e.sibling.Load() {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// list is all of them in a slice.
func (x *index) list() []*Entity { return slices.AppendSeq(make([]*Entity, 0, x.len), x.all()) }

// clear takes all entities out.
func (x *index) clear() {
	x.buckets.Store(nil)
	x.len = 0
}
