package dots

import "github.com/coterie-go/coterie/crdt/cbor"

// The form of a clock on the wire and on disks, core-deterministic CBOR: one set has one encoding,
// and the decoder accepts no other. It carries no version; the message or row around it does.
//
//	clock  [row…]                              rows by origin
//	row    [origin, base, (gap, run)…]         gap: missing seqs before a run, both at least 1
//	       [origin, more, base, (gap, run)…]   of the origin and as many more behind it, which are over

// Limits of what is decoded.
const (
	RowsMax = 1 << 20 // rows of a clock
	RunsMax = 1 << 20 // runs above the base of one row
)

// Append appends the encoding of c.
func (c *Clock) Append(dst []byte) []byte {
	dst = cbor.AppendArray(dst, len(c.rows))
	for i := range c.rows {
		r := &c.rows[i]
		dst = cbor.AppendArray(dst, r.words())
		dst = cbor.AppendUint(dst, r.first)
		if r.Wide() {
			dst = cbor.AppendUint(dst, r.last-r.first)
		}
		dst = cbor.AppendUint(dst, r.base)
		end := r.base
		for _, s := range r.above {
			dst = cbor.AppendUint(cbor.AppendUint(dst, s.first-end-1), s.last-s.first+1)
			end = s.last
		}
	}
	return dst
}

// Size is the number of bytes that Append appends.
func (c *Clock) Size() int {
	n := cbor.HeadLen(uint64(len(c.rows)))
	for i := range c.rows {
		n += c.rows[i].size()
	}
	return n
}

// words is the length of the array that a row is encoded as.
func (r *Row) words() int {
	n := 2 + 2*len(r.above)
	if r.Wide() {
		n++
	}
	return n
}

// size is the number of bytes of an encoded row.
func (r *Row) size() int {
	n := cbor.HeadLen(uint64(r.words())) + cbor.HeadLen(uint64(r.first)) + cbor.HeadLen(r.base)
	if r.Wide() {
		n += cbor.HeadLen(uint64(r.last - r.first))
	}
	end := r.base
	for _, s := range r.above {
		n += cbor.HeadLen(s.first-end-1) + cbor.HeadLen(s.last-s.first+1)
		end = s.last
	}
	return n
}

// Read reads a clock. It returns an empty one after a fault.
func Read(r *cbor.Reader) *Clock {
	n := r.Array(min(RowsMax, r.Len()/rowBytesMin))
	c := &Clock{rows: make([]Row, 0, n)}
	for range n {
		row := readRow(r)
		if k := len(c.rows); k > 0 && (c.rows[k-1].last >= row.first || row.follows(&c.rows[k-1])) {
			r.Fail("clock rows out of order, or two that are one")
		}
		if r.Err() != nil {
			return &Clock{}
		}
		c.rows = append(c.rows, row)
	}
	return c
}

// rowBytesMin is what the shortest row takes: head, origin, base.
const rowBytesMin = 3

func readRow(r *cbor.Reader) Row {
	n := r.Array(3 + 2*RunsMax)
	if n < 2 {
		r.Fail("clock row of %d", n)
		return Row{}
	}
	row := Row{first: Origin(r.Uint())}
	row.last = row.first
	more := uint64(0)
	if n%2 != 0 {
		more = r.Uint()
		row.last += Origin(more)
	}
	row.base = r.Uint()
	runs := (n - 2) / 2
	if runs == 0 && row.base == 0 {
		r.Fail("empty clock row")
	}
	if runs > 0 {
		row.above = make([]span, 0, runs)
	}
	end := row.base
	for range runs {
		gap, run := r.Uint(), r.Uint()
		first, last := end+gap+1, end+gap+run
		if gap == 0 || run == 0 || end+gap < end || last < end+gap {
			r.Fail("clock run of %d after %d", run, gap)
			return Row{}
		}
		row.above = append(row.above, span{first, last})
		end = last
	}
	if n%2 != 0 && (more == 0 || row.last < row.first || !row.closed()) {
		r.Fail("clock row of %d origins", more)
	}
	return row
}
