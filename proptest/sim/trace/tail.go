package trace

import "io"

// Tail is a Writer that keeps the last lines, to show how a run came to fail without all that went
// before.
type Tail struct {
	lines [][]byte
	most  int
}

// NewTail keeps the last most writes.
func NewTail(most int) *Tail { return &Tail{most: most} }

// Write keeps one line.
func (t *Tail) Write(b []byte) (int, error) {
	t.lines = append(t.lines, append([]byte(nil), b...))
	if len(t.lines) > 2*t.most {
		t.lines = append(t.lines[:0], t.lines[len(t.lines)-t.most:]...)
	}
	return len(b), nil
}

// WriteTo prints what was kept.
func (t *Tail) WriteTo(w io.Writer) (int64, error) {
	var total int64
	for _, l := range t.lines[max(0, len(t.lines)-t.most):] {
		n, err := w.Write(l)
		total += int64(n)
		if err != nil {
			return total, err
		}
	}
	return total, nil
}
