package frame

import "testing"

// A length costs nothing until its bytes come: the buffer never exceeds twice what has arrived, or
// its smallest size.
func TestReadBufferFollowsBytes(t *testing.T) {
	const frameMax = 64 << 20
	head := make([]byte, HeaderSize)
	PutHeader(head, 1, frameMax)
	arrived, largest := 0, 0
	b := NewBuffer()
	for arrived < 3<<20 {
		n := min(len(b.Free()), 1400)
		if arrived == 0 {
			copy(b.data, head)
		}
		b.Filled(n)
		arrived += n
		if f, err := b.Take(frameMax); f != nil || err != nil {
			t.Fatal(len(f), err)
		}
		largest = max(largest, len(b.data))
		if len(b.data) > max(bufferMin, 2*arrived) {
			t.Fatalf("a buffer of %d after %d bytes", len(b.data), arrived)
		}
	}
	t.Logf("largest buffer %d after %d bytes", largest, arrived)
}

func TestReadBufferShrinks(t *testing.T) {
	b := Buffer{data: make([]byte, bufferMax)}
	for range 20 * shrinkAfter {
		b.Filled(copy(b.Free(), Append(nil, 1, make([]byte, 88))))
		for f := []byte{}; f != nil; {
			var err error
			if f, err = b.Take(100); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(b.data) > 2*bufferMin {
		t.Errorf("still %d bytes after a long time of small reads", len(b.data))
	}
}
