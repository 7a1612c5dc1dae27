package transport

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/coterie-go/coterie/ddata/transport/frame"
	"pgregory.net/rapid"
)

// keptLink is a link of the Data lane whose writes and receipts a test makes up.
type keptLink struct {
	*link
	frames [][]byte // all that were written, from 1
}

func newKeptLink() *keptLink {
	l := &keptLink{link: &link{lane: Data, m: bare(1 << 20)}}
	l.m.cfg.DataKeepMax = 256 << 10
	l.kept.room = make(chan struct{}, 1)
	return l
}

// batch is n new frames, and the number of the last.
func (l *keptLink) batch(n, size int) (batch []byte, last uint64) {
	for range n {
		payload := binary.BigEndian.AppendUint64(make([]byte, size), uint64(len(l.frames)+1))
		f := appendFrame(nil, 7, payload)
		l.frames = append(l.frames, f)
		batch = append(batch, f...)
	}
	return batch, l.writing(n)
}

func (l *keptLink) check(t *rapid.T) {
	bytes, lent := 0, 0
	for _, c := range l.kept.chunks {
		if bytes += len(c.data); c.large {
			lent += cap(c.data)
		}
	}
	if bytes != l.kept.bytes || len(l.kept.free) > freeChunksMax {
		t.Fatalf("%d bytes kept, counted %d; %d chunks free", bytes, l.kept.bytes, len(l.kept.free))
	}
	if lent != l.kept.lent || lent > 2*l.m.cfg.DataKeepMax {
		t.Fatalf("buffers of %d bytes lent, counted %d", lent, l.kept.lent)
	}
	if l.kept.acked == l.kept.written && bytes > 0 {
		t.Fatalf("%d bytes kept of which all have arrived", bytes)
	}
}

func TestWhatHasNoReceiptIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newKeptLink()
		receipt := func(t *rapid.T) {
			if n := rapid.Uint64Range(l.kept.acked, l.kept.written).Draw(t, "received"); !l.receipt(n) {
				t.Fatalf("receipt %d refused, %d of %d known", n, l.kept.acked, l.kept.written)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				batch, last := l.batch(rapid.IntRange(1, 20).Draw(t, "frames"), rapid.SampledFrom([]int{0, 100, 9_000, 70_000}).Draw(t, "size"))
				if len(batch) >= keepWhole && l.keepLarge(batch, last) {
					return
				}
				for begun := false; len(batch) > 0; begun = true {
					batch = l.keepSome(batch, last, begun)
					if rapid.IntRange(0, 9).Draw(t, "receipt between") == 0 {
						receipt(t)
					}
				}
			},
			"receipt": receipt,
			"take": func(t *rapid.T) {
				want := bytes.Join(l.frames[l.kept.acked:], nil)
				if got := l.takeKeptLocked(); !bytes.Equal(got, want) {
					t.Fatalf("%d bytes in %d frames, want %d", len(got), frame.Count(got), len(want))
				}
			},
			"": l.check,
		})
	})
}

// A large batch is not copied, and its buffer is the link's again with the receipt.
func TestLargeBatchIsKeptInItsBuffer(t *testing.T) {
	l := newKeptLink()
	batch, last := l.batch(1, keepWhole)
	l.keep(batch, last)
	if l.spares.Take() != nil || len(l.kept.chunks) != 1 || &l.kept.chunks[0].data[0] != &batch[0] {
		t.Fatalf("the buffer came back, %d chunks", len(l.kept.chunks))
	}
	l.receipt(last)
	if b := l.spares.Take(); b == nil || &b[:1][0] != &batch[0] {
		t.Fatal("the buffer did not come back")
	}
}

func TestKeepingTakesNoMemoryWhileReceiptsCome(t *testing.T) {
	for _, frames := range []int{100, 1000} { // a small batch and a large one
		testKeepingTakesNoMemory(t, frames)
	}
}

func testKeepingTakesNoMemory(t *testing.T, frames int) {
	l := newKeptLink()
	batch, _ := l.batch(frames, 100)
	buf := bytes.Clone(batch)
	if n := testing.AllocsPerRun(1000, func() {
		l.keep(append(buf[:0], batch...), l.writing(frames))
		l.receipt(l.kept.written - 50)
		if b := l.spares.Take(); b != nil {
			buf = b
		}
	}); n > 1 { // the list of spares
		t.Fatalf("%v allocations for each batch", n)
	}
}

// FuzzReceipts: whatever a receiver says of what it has got, in receipts and when it welcomes the
// next connection, a link keeps its invariants: it never lets go of what may not have arrived,
// takes back what was acknowledged, or sends what was never written.
func FuzzReceipts(f *testing.F) {
	for _, n := range []uint64{0, 1, 5, 10, 11, 1 << 40, 1<<64 - 1} {
		f.Add(n, n/2, n+1, false)
		f.Add(uint64(3), n, n, true)
	}
	f.Fuzz(func(t *testing.T, first, second, welcomed uint64, fresh bool) {
		l := newKeptLink()
		l.m = bare(1 << 20)
		batch, last := l.batch(10, 9_000)
		for begun := false; len(batch) > 0; begun = true {
			batch = l.keepSome(batch, last, begun)
		}
		acked := uint64(0)
		for _, n := range []uint64{first, second} {
			if fits := n >= acked && n <= last; l.receipt(n) != fits {
				t.Fatalf("receipt %d after %d of %d: taken %t", n, acked, last, !fits)
			} else if fits {
				acked = n
			}
			if l.kept.acked != acked {
				t.Fatalf("%d are acknowledged, want %d", l.kept.acked, acked)
			}
		}
		l.resume(answer{Received: welcomed, Fresh: fresh})
		var want []byte // to go out again
		if !fresh && welcomed >= acked && welcomed <= last {
			want = bytes.Join(l.frames[welcomed:], nil)
		} else if lost := l.m.n.snapshot().Dropped[DropConnLost]; lost != last-acked {
			t.Fatalf("%d were counted as lost, want %d", lost, last-acked)
		}
		if !bytes.Equal(l.buf, want) || l.link.frames != frame.Count(want) {
			t.Fatalf("%d bytes go out again, want %d", len(l.buf), len(want))
		}
	})
}
