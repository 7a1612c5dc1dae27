package crdt

// ring is a queue in a circular buffer: the log's window slides over it without copying.
type ring[T any] struct {
	buf  []T // its length is 0 or a power of two
	head int
	n    int
}

func (r *ring[T]) len() int { return r.n }

// at returns the i-th element from the front.
func (r *ring[T]) at(i int) *T { return &r.buf[(r.head+i)&(len(r.buf)-1)] }

func (r *ring[T]) push(v T) {
	if r.n == len(r.buf) {
		r.resize(max(2*r.n, 4))
	}
	r.n++
	*r.at(r.n - 1) = v
}

// pop takes the front out. A buffer that is mostly empty is given back.
func (r *ring[T]) pop() T {
	var zero T
	p := r.at(0)
	v := *p
	*p = zero
	r.head = (r.head + 1) & (len(r.buf) - 1)
	r.n--
	if len(r.buf) > 64 && r.n < len(r.buf)/8 {
		r.resize(len(r.buf) / 4)
	}
	return v
}

func (r *ring[T]) resize(size int) {
	buf := make([]T, size)
	for i := range r.n {
		buf[i] = *r.at(i)
	}
	r.buf, r.head = buf, 0
}
