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
// Invariants: rows 1 to made have been used; row 0 never is. A row is in the chain of its id, or it is absent
// and in the list of free ones.
type roster struct {
	seed  uint64
	rows  pieces[row]
	heads pieces[uint32] // the first row of each chain; 0: it is empty
	made  uint32         // rows that were ever used
	free  uint32         // the first row that is used no more; 0: none
	len   int
}

// row is one entity, or free.
type row struct {
	id   protocol.EntityID
	next uint32 // in its chain, or of the free ones; 0: none
	entity
}

// newRoster makes an empty one. The seed is random, so that no peer can choose ids that share a chain.
func newRoster(seed uint64) roster { return roster{seed: seed} }

// hash is that of an id.
func (r *roster) hash(id protocol.EntityID) uint32 {
	return uint32(xxh3.HashStringSeed(string(id), r.seed))
}

// chains is how many chains there are: one for each entity that there has been at one time.
func (r *roster) chains() uint32 { return uint32(r.heads.len) }

// chain is the first row of a hash.
func (r *roster) chain(hash uint32) *uint32 { return r.heads.at(linear.Chain(hash, r.chains())) }

// find returns the row of an id with that hash; nil: there is none.
func (r *roster) find(id protocol.EntityID, hash uint32) *row {
	if r.len == 0 {
		return nil
	}
	for i := *r.chain(hash); i != 0; {
		row := r.rows.at(i)
		if row.id == id {
			return row
		}
		i = row.next
	}
	return nil
}

// of is the entity of an id; it is absent if there is none.
func (r *roster) of(id protocol.EntityID) entity {
	if row := r.find(id, r.hash(id)); row != nil {
		return row.entity
	}
	return entity{}
}

// set keeps an entity of an id; one that is absent is taken out.
func (r *roster) set(id protocol.EntityID, e entity) {
	hash := r.hash(id)
	row := r.find(id, hash)
	switch {
	case e.state == entityAbsent:
		if row != nil {
			r.remove(id, hash)
		}
	case row != nil:
		row.entity = e
	default:
		r.add(id, hash, e)
	}
}

// add takes an id with that hash, which is not there.
func (r *roster) add(id protocol.EntityID, hash uint32, e entity) {
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
	if r.len++; r.len > r.heads.len {
		r.split()
	}
	head := r.chain(hash)
	*r.rows.at(i) = row{id: id, next: *head, entity: e}
	*head = i
}

// remove takes out an id with that hash, which is there.
func (r *roster) remove(id protocol.EntityID, hash uint32) {
	at := r.chain(hash)
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
		if r.hash(row.id)&bit == 0 {
			from = &row.next
			continue
		}
		*from, row.next = row.next, *to
		*to = i
	}
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
