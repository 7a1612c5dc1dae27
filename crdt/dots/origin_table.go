package dots

import "github.com/coterie-go/coterie/crdt/cbor"

// OriginTable numbers the origins of which a message speaks, in order of first use. The first few stand in the
// table itself, so that it lives on the stack of its user; more are rare.
type OriginTable struct {
	few    [4]Origin
	more   []Origin
	places map[Origin]int // once they are many

	N    int // how many there are
	Used int // decoding: how many have been used
}

// originScanMax is how many origins are searched one by one before a map is worth it.
const originScanMax = 8

// ID returns the i-th origin.
func (t *OriginTable) ID(i int) Origin {
	if i < len(t.few) {
		return t.few[i]
	}
	return t.more[i-len(t.few)]
}

// Index returns the number of an origin, -1 if it is not in the table.
func (t *OriginTable) Index(o Origin) int {
	if t.places != nil {
		if i, ok := t.places[o]; ok {
			return i
		}
		return -1
	}
	for i := range t.N {
		if t.ID(i) == o {
			return i
		}
	}
	return -1
}

// Add enters o unless it is there, and reports whether it was not.
func (t *OriginTable) Add(o Origin) bool {
	if t.Index(o) >= 0 {
		return false
	}
	if t.N < len(t.few) {
		t.few[t.N] = o
	} else {
		t.more = append(t.more, o)
	}
	t.N++
	if t.places != nil {
		t.places[o] = t.N - 1
	} else if t.N > originScanMax {
		t.places = make(map[Origin]int, 2*t.N)
		for i := range t.N {
			t.places[t.ID(i)] = i
		}
	}
	return true
}

// Append appends the encoding of the table.
func (t *OriginTable) Append(dst []byte) []byte {
	dst = cbor.AppendArray(dst, t.N)
	for i := range t.N {
		dst = cbor.AppendUint(dst, t.ID(i))
	}
	return dst
}

// Read fills the table, which it empties first.
func (t *OriginTable) Read(r *cbor.Reader) {
	if t.N, t.Used = 0, 0; t.more != nil { // else there is no pointer to clear: that costs a write barrier
		t.more, t.places = nil, nil
	}
	for range r.Array(cbor.Any) {
		o := Origin(r.Uint())
		if r.Err() != nil {
			return
		}
		if !t.Add(o) {
			r.Fail("origin %v is in the table twice", o)
		}
	}
}

// Use returns the origin at index k, which must be at most one beyond those used so far.
func (t *OriginTable) Use(r *cbor.Reader, k uint64) Origin {
	if k > uint64(t.Used) || k >= uint64(t.N) {
		r.Fail("origin %d of %d, used %d", k, t.N, t.Used)
		return 0
	}
	t.Used = max(t.Used, int(k)+1)
	return t.ID(int(k))
}
