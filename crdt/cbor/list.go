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

// ReadList reads an array of at most most elements, each of which one reads. Null is a nil slice.
func ReadList[E any](r *Reader, most int, one func(r *Reader) E) []E {
	if r.Null() {
		return nil
	}
	all := make([]E, r.Array(most))
	for i := range all {
		all[i] = one(r)
	}
	return all
}
