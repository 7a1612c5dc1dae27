package origins

import (
	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/crdt/dots"
)

// Table numbers origins in order of first use. The first few stand in the table itself, so that it
// lives on the stack of its user; more are rare. The zero value is empty.
type Table struct {
	few    [4]dots.Origin
	more   []dots.Origin
	n      int
	places map[dots.Origin]int // once they are many
	used   int                 // decoding: how many have been used
}

// originScanMax is how many origins are searched one by one before a map is worth it.
const originScanMax = 8

// Len returns how many origins there are.
func (t *Table) Len() int { return t.n }

// ID returns the origin at index i.
func (t *Table) ID(i int) dots.Origin {
	if i < len(t.few) {
		return t.few[i]
	}
	return t.more[i-len(t.few)]
}

// Index returns the index of an origin; -1: it is not there.
func (t *Table) Index(o dots.Origin) int {
	if t.places != nil {
		if i, ok := t.places[o]; ok {
			return i
		}
		return -1
	}
	for i := range t.n {
		if t.ID(i) == o {
			return i
		}
	}
	return -1
}

// Add enters o unless it is there, and reports whether it was not.
func (t *Table) Add(o dots.Origin) bool {
	if t.Index(o) >= 0 {
		return false
	}
	if t.n < len(t.few) {
		t.few[t.n] = o
	} else {
		t.more = append(t.more, o)
	}
	t.n++
	if t.places != nil {
		t.places[o] = t.n - 1
	} else if t.n > originScanMax {
		t.places = make(map[dots.Origin]int, 2*t.n)
		for i := range t.n {
			t.places[t.ID(i)] = i
		}
	}
	return true
}

// Append appends the encoding.
func (t *Table) Append(dst []byte) []byte {
	dst = cbor.AppendArray(dst, t.n)
	for i := range t.n {
		dst = cbor.AppendUint(dst, t.ID(i))
	}
	return dst
}

// Read fills the table, which it empties first.
func (t *Table) Read(r *cbor.Reader) {
	if t.n, t.used = 0, 0; t.more != nil { // else there is no pointer to clear: that costs a write barrier
		t.more, t.places = nil, nil
	}
	for range r.Array(cbor.Any) {
		o := dots.Origin(r.Uint())
		if r.Err() != nil {
			return
		}
		if !t.Add(o) {
			r.Fail("origin %v is in the table twice", o)
		}
	}
}

// Use returns the origin at index k, which must be at most one beyond those used so far.
func (t *Table) Use(r *cbor.Reader, k uint64) dots.Origin {
	if k > uint64(t.used) || k >= uint64(t.n) {
		r.Fail("origin %d of %d, used %d", k, t.n, t.used)
		return 0
	}
	t.used = max(t.used, int(k)+1)
	return t.ID(int(k))
}

// End fails r unless all origins have been used by what was read, which it names.
func (t *Table) End(r *cbor.Reader, what string) {
	if t.used != t.n {
		r.Fail("%s's table names %d origins, it uses %d", what, t.n, t.used)
	}
}
