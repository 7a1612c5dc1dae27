package frame

import "slices"

// Spares are the buffers of one writer that hold no batch at present.
type Spares struct {
	free [][]byte
}

// Put gives a buffer back.
func (s *Spares) Put(batch []byte) {
	if len(s.free) < sparesMax && cap(batch) <= spareMax {
		s.free = append(s.free, batch[:0])
	}
}

// Take returns an empty buffer; nil when there is none.
func (s *Spares) Take() []byte {
	n := len(s.free)
	if n == 0 {
		return nil
	}
	b := s.free[n-1]
	s.free = s.free[:n-1]
	return b
}

// Clear lets go of all buffers.
func (s *Spares) Clear() { s.free = nil }

// Large reports whether an idle writer should let go of the buffers.
func (s *Spares) Large() bool { return slices.ContainsFunc(s.free, Large) }

// Large reports whether a buffer is larger than an idle writer should keep.
func Large(b []byte) bool { return cap(b) > idleMax }
