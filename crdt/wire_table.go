package crdt

import "github.com/coterie-go/coterie/crdt/cbor"

// originTable numbers origins in order of first use. The first few stand in the table itself, so
// that it lives on the stack of its user; more are rare.
type originTable struct {
	few    [4]Origin
	more   []Origin
	n      int
	places map[Origin]int // once they are many
	used   int            // decoding: how many have been used
}

// originScanMax is how many origins are searched one by one before a map is worth it.
const originScanMax = 8

func (t *originTable) id(i int) Origin {
	if i < len(t.few) {
		return t.few[i]
	}
	return t.more[i-len(t.few)]
}

func (t *originTable) index(o Origin) int {
	if t.places != nil {
		if i, ok := t.places[o]; ok {
			return i
		}
		return -1
	}
	for i := range t.n {
		if t.id(i) == o {
			return i
		}
	}
	return -1
}

// add enters o unless it is there, and reports whether it was not.
func (t *originTable) add(o Origin) bool {
	if t.index(o) >= 0 {
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
		t.places = make(map[Origin]int, 2*t.n)
		for i := range t.n {
			t.places[t.id(i)] = i
		}
	}
	return true
}

func (t *originTable) append(dst []byte) []byte {
	dst = cbor.AppendArray(dst, t.n)
	for i := range t.n {
		dst = cbor.AppendUint(dst, t.id(i))
	}
	return dst
}

// read fills the table, which it empties first.
func (t *originTable) read(r *cbor.Reader) {
	if t.n, t.used = 0, 0; t.more != nil { // else there is no pointer to clear: that costs a write barrier
		t.more, t.places = nil, nil
	}
	for range r.Array(cbor.Any) {
		o := Origin(r.Uint())
		if r.Err() != nil {
			return
		}
		if !t.add(o) {
			r.Fail("origin %v is in the table twice", o)
		}
	}
}

// use returns the origin at index k, which must be at most one beyond those used so far.
func (t *originTable) use(r *cbor.Reader, k uint64) Origin {
	if k > uint64(t.used) || k >= uint64(t.n) {
		r.Fail("origin %d of %d, used %d", k, t.n, t.used)
		return 0
	}
	t.used = max(t.used, int(k)+1)
	return t.id(int(k))
}
