package ring

// Ring is a queue. The zero value is empty.
type Ring[T any] struct {
	buf  []T // its length is 0 or a power of two
	head int
	n    int
}

// Len returns how many it holds.
func (r *Ring[T]) Len() int { return r.n }

// At returns the i-th element from the front, which must be there. The pointer is good until the
// next Push or Pop.
func (r *Ring[T]) At(i int) *T { return &r.buf[(r.head+i)&(len(r.buf)-1)] }

// Push appends an element.
func (r *Ring[T]) Push(v T) {
	if r.n == len(r.buf) {
		r.resize(max(2*r.n, 4))
	}
	r.n++
	*r.At(r.n - 1) = v
}

// Pop takes the front out, which must be there. A buffer that is mostly empty is given back.
func (r *Ring[T]) Pop() {
	var zero T
	*r.At(0) = zero
	r.head = (r.head + 1) & (len(r.buf) - 1)
	r.n--
	if len(r.buf) > 64 && r.n < len(r.buf)/8 {
		r.resize(len(r.buf) / 4)
	}
}

func (r *Ring[T]) resize(size int) {
	buf := make([]T, size)
	for i := range r.n {
		buf[i] = *r.At(i)
	}
	r.buf, r.head = buf, 0
}
