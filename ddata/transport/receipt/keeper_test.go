package receipt

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/coterie-go/coterie/ddata/transport/frame"
	"pgregory.net/rapid"
)

// keeping is the keeper of a link whose writes and receipts a test makes up.
type keeping struct {
	Keeper
	spares frame.Spares
	frames [][]byte // all that were written, from 1
}

func newKeeping() *keeping {
	k := &keeping{}
	k.Keeper = NewKeeper(256<<10, &k.spares)
	return k
}

// batch is n new frames, and the number of the last.
func (k *keeping) batch(n, size int) (batch []byte, last uint64) {
	for range n {
		payload := binary.BigEndian.AppendUint64(make([]byte, size), uint64(len(k.frames)+1))
		f := frame.Append(nil, 7, payload)
		k.frames = append(k.frames, f)
		batch = append(batch, f...)
	}
	return batch, k.Number(n)
}

// keep keeps a batch as a link does.
func (k *keeping) keep(batch []byte, last uint64) {
	if len(batch) >= Large && k.KeepLarge(batch, last) {
		return
	}
	for rest, begun := batch, false; len(rest) > 0; begun = true {
		rest = k.KeepSome(rest, last, begun)
	}
	k.spares.Put(batch)
}

func (k *keeping) check(t *rapid.T) {
	bytes, lent := 0, 0
	for _, c := range k.chunks {
		if bytes += len(c.data); c.large {
			lent += cap(c.data)
		}
	}
	if bytes != k.bytes || len(k.free) > freeMax {
		t.Fatalf("%d bytes kept, counted %d; %d chunks free", bytes, k.bytes, len(k.free))
	}
	if lent != k.lent || lent > k.lentMax {
		t.Fatalf("buffers of %d bytes lent, counted %d", lent, k.lent)
	}
	if k.acked == k.written && bytes > 0 {
		t.Fatalf("%d bytes kept of which all have arrived", bytes)
	}
}

func TestWhatHasNoReceiptIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := newKeeping()
		release := func(t *rapid.T) {
			if n := rapid.Uint64Range(k.acked, k.written).Draw(t, "received"); !k.Release(n) {
				t.Fatalf("receipt %d refused, %d of %d known", n, k.acked, k.written)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				frames := rapid.IntRange(1, 20).Draw(t, "frames")
				batch, last := k.batch(frames, rapid.SampledFrom([]int{0, 100, 9_000, 70_000}).Draw(t, "size"))
				if len(batch) >= Large && k.KeepLarge(batch, last) {
					return
				}
				for begun := false; len(batch) > 0; begun = true {
					batch = k.KeepSome(batch, last, begun)
					if rapid.IntRange(0, 9).Draw(t, "receipt between") == 0 {
						release(t)
					}
				}
			},
			"receipt": release,
			"take": func(t *rapid.T) {
				want := bytes.Join(k.frames[k.acked:], nil)
				if got := k.take(); !bytes.Equal(got, want) {
					t.Fatalf("%d bytes in %d frames, want %d", len(got), frame.Count(got), len(want))
				}
			},
			"": k.check,
		})
	})
}

// A large batch is not copied, and its buffer is the link's again with the receipt.
func TestLargeBatchIsKeptInItsBuffer(t *testing.T) {
	k := newKeeping()
	batch, last := k.batch(1, Large)
	k.keep(batch, last)
	if k.spares.Take() != nil || len(k.chunks) != 1 || &k.chunks[0].data[0] != &batch[0] {
		t.Fatalf("the buffer came back, %d chunks", len(k.chunks))
	}
	k.Release(last)
	if b := k.spares.Take(); b == nil || &b[:1][0] != &batch[0] {
		t.Fatal("the buffer did not come back")
	}
}

func TestKeepingTakesNoMemoryWhileReceiptsCome(t *testing.T) {
	for _, frames := range []int{100, 1000} { // a small batch and a large one
		testKeepingTakesNoMemory(t, frames)
	}
}

func testKeepingTakesNoMemory(t *testing.T, frames int) {
	k := newKeeping()
	batch, _ := k.batch(frames, 100)
	buf := bytes.Clone(batch)
	if n := testing.AllocsPerRun(1000, func() {
		k.keep(append(buf[:0], batch...), k.Number(frames))
		k.Release(k.written - 50)
		if b := k.spares.Take(); b != nil {
			buf = b
		}
	}); n > 1 { // the list of spares
		t.Fatalf("%v allocations for each batch", n)
	}
}

// FuzzReceipts: whatever a receiver says of what it has got, in receipts and when it welcomes the
// next connection, a keeper keeps its invariants: it never lets go of what may not have arrived,
// takes back what was acknowledged, or sends what was never written.
func FuzzReceipts(f *testing.F) {
	for _, n := range []uint64{0, 1, 5, 10, 11, 1 << 40, 1<<64 - 1} {
		f.Add(n, n/2, n+1, false)
		f.Add(uint64(3), n, n, true)
	}
	f.Fuzz(func(t *testing.T, first, second, welcomed uint64, fresh bool) {
		k := newKeeping()
		batch, last := k.batch(10, 9_000)
		for begun := false; len(batch) > 0; begun = true {
			batch = k.KeepSome(batch, last, begun)
		}
		acked := uint64(0)
		for _, n := range []uint64{first, second} {
			if fits := n >= acked && n <= last; k.Release(n) != fits {
				t.Fatalf("receipt %d after %d of %d: taken %t", n, acked, last, !fits)
			} else if fits {
				acked = n
			}
			if k.Acked() != acked {
				t.Fatalf("%d are acknowledged, want %d", k.Acked(), acked)
			}
		}
		again, frames, lost := k.Resume(welcomed, fresh)
		var want []byte // to go out again
		if !fresh && welcomed >= acked && welcomed <= last {
			want = bytes.Join(k.frames[welcomed:], nil)
		} else if n := frame.Count(lost); n != int(last-acked) {
			t.Fatalf("%d are lost, want %d", n, last-acked)
		}
		if !bytes.Equal(again, want) || frames != frame.Count(want) {
			t.Fatalf("%d bytes go out again, want %d", len(again), len(want))
		}
	})
}
