package cbor

// AppendList appends an array of elements that one appends. A nil slice is null.
func AppendList[E any](dst []byte, all []E, one func(dst []byte, e E) []byte) []byte {
	if all == nil {
		return AppendNull(dst)
	}
	dst = AppendArray(dst, len(all))
	for _, e := range all {
		dst = one(dst, e)
	}
	return dst
}

// listAtOnce is how many elements ReadList makes room for before it has read any: an array that is cut
// off costs no more than what is there of it.
const listAtOnce = 64

// ReadList reads an array of at most most elements, each of which one reads. Null is a nil slice.
func ReadList[E any](r *Reader, most int, one func(r *Reader) E) []E {
	if r.Null() {
		return nil
	}
	n := r.Array(most)
	all := make([]E, 0, min(n, listAtOnce))
	for range n {
		e := one(r)
		if r.Err() != nil {
			break
		}
		all = append(all, e)
	}
	return all
}
