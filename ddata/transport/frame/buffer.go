package frame

// Buffer is the buffer of one reader. It starts small, doubles while reads fill it, and shrinks when
// they have long been small. It never grows beyond twice what has arrived, whatever the length of a
// frame claims.
//
// Invariant: start ≤ end ≤ len(data).
type Buffer struct {
	data       []byte
	start, end int // data[start:end] is not taken yet
	need       int // the size of the frame at start, if Take has found it incomplete; zero when not known
	got        int // bytes of the last read
	small      int // reads in a row that used less than an eighth
}

// NewBuffer returns an empty buffer.
func NewBuffer() Buffer { return Buffer{data: make([]byte, bufferMin)} }

// Free makes room for the next read, and returns where that goes. What was taken is no longer valid.
func (b *Buffer) Free() []byte {
	b.prepare()
	return b.data[b.end:]
}

// Filled takes note that a read brought n bytes.
func (b *Buffer) Filled(n int) {
	b.end += n
	b.got = n
}

// Rest is the number of bytes that are not taken yet.
func (b *Buffer) Rest() int { return b.end - b.start }

// Take returns the next frame, whose payload has at most max bytes; nil: it has not come yet. The frame
// is valid until Free.
func (b *Buffer) Take(max int) ([]byte, error) {
	size, err := Size(b.data[b.start:b.end], max)
	if err != nil {
		return nil, err
	}
	end := b.start + size
	if size == 0 || end > b.end {
		b.need = size
		return nil, nil
	}
	frame := b.data[b.start:end:end]
	b.start = end
	return frame, nil
}

// prepare makes room for the next read.
func (b *Buffer) prepare() {
	rest := b.end - b.start
	size := len(b.data)
	switch {
	case b.end == size && size < bufferMax: // the read filled it
		size *= 2
	case rest == size: // a frame larger than the buffer, and all of the buffer is its
		size = min(2*size, b.need)
	case b.got < size/8 && size > bufferMin && rest < size/8:
		if b.small++; b.small >= shrinkAfter {
			size /= 2
		}
	default:
		b.small = 0
	}
	if size != len(b.data) {
		b.small = 0
		data := make([]byte, size)
		copy(data, b.data[b.start:b.end])
		b.data = data
	} else if b.start > 0 { // else a frame that comes byte by byte would be moved with every byte
		copy(b.data, b.data[b.start:b.end])
	}
	b.start, b.end = 0, rest
}
