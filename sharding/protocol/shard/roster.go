package shard

import (
	"iter"

	"github.com/zeebo/xxh3"

	"github.com/coterie-go/coterie/sharding/linear"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// roster finds the entities of a shard by id. There may be a million, most of them active: so it takes 28
// bytes for each, and no more than a piece that is not full yet. A map takes 25 to 55, because half of it
// may be empty.
//
// It is a linear hash table, which grows by one chain when an entity is added. The chains run through the
// rows. The zero value is empty, with a seed that is known.
//
// Invariants: rows 1 to made have been used; row 0 never is. A row is in the chain of its id, with the tag of
// its hash, or it is absent and in the list of free ones.
type roster struct {
	seed  uint64
	rows  pieces[row]
	heads pieces[uint32] // the first row of each chain; 0: it is empty
	made  uint32         // rows that were ever used
	free  uint32         // the first row that is used no more; 0: none
	len   int
}

// row is one entity, or free. By the tag few ids are compared that are not equal: an id lies elsewhere in memory.
type row struct {
	id   protocol.EntityID
	next uint32 // in its chain, or of the free ones; 0: none
	tag  uint16 // of the hash
	entity
}

// place is where an id stands, or would stand. It holds until the roster changes.
type place struct {
	hash hash
	row  *row // nil: it is absent
}

// entity is what stands there.
func (p place) entity() entity {
	if p.row == nil {
		return entity{}
	}
	return p.row.entity
}

// hash is that of an id: the chain goes by the lowest bits.
type hash uint32

// tag is the part of a hash that a row keeps.
func (h hash) tag() uint16 { return uint16(h >> linear.TagFrom) }

const tagBits = 16

// newRoster makes an empty one. The seed is random, so that no peer can choose ids that share a chain.
func newRoster(seed uint64) roster { return roster{seed: seed} }

// hash is that of an id.
func (r *roster) hash(id protocol.EntityID) hash {
	return hash(xxh3.HashStringSeed(string(id), r.seed))
}

// chains is how many chains there are: one for each entity that there has been at one time.
func (r *roster) chains() uint32 { return uint32(r.heads.len) }

// chain is the first row of a hash.
func (r *roster) chain(h hash) *uint32 { return r.heads.at(linear.Chain(uint32(h), r.chains())) }

// find returns the place of an id.
func (r *roster) find(id protocol.EntityID) place {
	p := place{hash: r.hash(id)}
	if r.len == 0 {
		return p
	}
	for i, tag := *r.chain(p.hash), p.hash.tag(); i != 0; {
		row := r.rows.at(i)
		if row.tag == tag && row.id == id {
			p.row = row
			break
		}
		i = row.next
	}
	return p
}

// of is the entity of an id; it is absent if there is none.
func (r *roster) of(id protocol.EntityID) entity { return r.find(id).entity() }

// set keeps an entity of an id; one that is absent is taken out.
func (r *roster) set(id protocol.EntityID, e entity) { r.put(id, r.find(id), e) }

// put is set for the place of the id.
func (r *roster) put(id protocol.EntityID, at place, e entity) {
	switch {
	case e.state == entityAbsent:
		if at.row != nil {
			r.remove(id, at.hash)
		}
	case at.row != nil:
		at.row.entity = e
	default:
		r.add(id, at.hash, e)
	}
}

// add takes an id with that hash, which is not there.
func (r *roster) add(id protocol.EntityID, h hash, e entity) {
	i := r.free
	if i != 0 {
		r.free = r.rows.at(i).next
	} else {
		if r.made == 0 {
			r.rows.grow() // row 0
		}
		r.rows.grow()
		r.made++
		i = r.made
	}
	r.len++
	if r.heads.len < r.len {
		r.split()
	}
	head := r.chain(h)
	*r.rows.at(i) = row{id: id, next: *head, tag: h.tag(), entity: e}
	*head = i
}

// expect makes the chains for so many entities of an empty roster, so that none is divided when they come.
func (r *roster) expect(n int) {
	h := &r.heads
	if n < pieceMax {
		h.first, h.len = make([]uint32, n), n
		return
	}
	h.first, h.len = make([]uint32, pieceMax), pieceMax
	for ; h.len < n; h.len += pieceMax {
		h.more = append(h.more, new([pieceMax]uint32))
	}
}

// remove takes out an id with that hash, which is there.
func (r *roster) remove(id protocol.EntityID, h hash) {
	at := r.chain(h)
	for r.rows.at(*at).id != id {
		at = &r.rows.at(*at).next
	}
	i := *at
	gone := r.rows.at(i)
	*at = gone.next
	*gone = row{next: r.free}
	r.free = i
	r.len--
}

// split adds a chain, with what the chain before it in the order of the hashes has of it.
func (r *roster) split() {
	n := r.chains()
	r.heads.grow()
	if n == 0 {
		return
	}
	divided, bit := linear.Split(n)
	from, to := r.heads.at(divided), r.heads.at(n)
	for *from != 0 {
		i := *from
		row := r.rows.at(i)
		if !r.has(row, bit) {
			from = &row.next
			continue
		}
		*from, row.next = row.next, *to
		*to = i
	}
}

// has reports whether the hash of a row's id has a bit.
func (r *roster) has(row *row, bit uint32) bool {
	if set, known := linear.Tagged(uint32(row.tag), tagBits, bit); known {
		return set
	}
	return uint32(r.hash(row.id))&bit != 0
}

// clear takes all out.
func (r *roster) clear() { *r = newRoster(r.seed) }

// all yields the entities in no order that means anything: not the same after a restart. The loop may
// change any of them, and take them out.
func (r *roster) all() iter.Seq2[protocol.EntityID, entity] {
	return func(yield func(protocol.EntityID, entity) bool) {
		for i := uint32(1); i <= r.made; i++ {
			if row := r.rows.at(i); row.state != entityAbsent && !yield(row.id, row.entity) {
				return
			}
		}
	}
}

// pieces is a slice that grows without a copy of what it has: that would be half empty on average. The
// first piece is small and doubles, the others have pieceMax each. No element moves once there is a second
// piece.
type pieces[T any] struct {
	first []T
	more  []*[pieceMax]T
	len   int
}

const (
	pieceMax  = 256
	pieceBits = 8
)

// at is an element; it may move with the next grow.
func (p *pieces[T]) at(i uint32) *T {
	if i < pieceMax {
		return &p.first[i]
	}
	return &p.more[i>>pieceBits-1][i%pieceMax]
}

// grow adds a zero element.
func (p *pieces[T]) grow() {
	switch {
	case p.len < pieceMax:
		var zero T
		p.first = append(p.first, zero)
	case p.len%pieceMax == 0:
		p.more = append(p.more, new([pieceMax]T))
	}
	p.len++
}
