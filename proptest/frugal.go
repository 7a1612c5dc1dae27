package proptest

import (
	"bytes"
	"encoding/hex"
	"runtime"
	"slices"
	"testing"
)

// Frugal holds a decoder to a promise: whatever lengths its input claims, it allocates no more than
// perByte bytes for each byte that is really there, and 64 KiB. It bends encoded messages, the
// seeds: at each place, heads that announce up to 2^32 bytes, elements or pairs take the place of
// what stood there, followed by the rest of the seed, by nothing, or by some thousand of the
// shortest values that there are. decode may refuse or accept what it is given.
func Frugal(t testing.TB, perByte int, decode func([]byte), seeds ...[]byte) {
	t.Helper()
	f := frugality{t: t, perByte: perByte, decode: decode}
	for _, seed := range seeds {
		f.try(seed)
		stride := 1 + len(seed)/200
		for at := 0; at < len(seed) && !t.Failed(); at += stride {
			for _, head := range greedyHeads {
				front := slices.Concat(seed[:at], head)
				f.try(slices.Concat(front, seed[min(at+1, len(seed)):]))
				for _, filler := range []byte{0x00, 0x80, 0xa0} {
					f.try(slices.Concat(front, bytes.Repeat([]byte{filler}, 4000)))
				}
			}
		}
	}
	f.settle()
	t.Logf("%d inputs, %d bytes allocated at most by one, or by some that cost no more than one may", f.inputs, f.worst)
}

// frugality has inputs decoded together, because to ask how much was allocated stops the whole program: what is no more
// for all of them than each of them may cost, is so for each.
type frugality struct {
	t       testing.TB
	perByte int
	decode  func([]byte)
	waiting [][]byte

	worst, inputs int
}

// frugalBatch is how many inputs are decoded together.
const frugalBatch = 32

// try takes an input.
func (f *frugality) try(b []byte) {
	f.inputs++
	if f.waiting = append(f.waiting, b); len(f.waiting) == frugalBatch {
		f.settle()
	}
}

// settle looks at those that wait.
func (f *frugality) settle() {
	f.look(f.waiting)
	f.waiting = f.waiting[:0]
}

// look decodes inputs, and looks at each half by itself if they cost more than one may.
func (f *frugality) look(inputs [][]byte) {
	if len(inputs) == 0 {
		return
	}
	limit := f.limit(slices.MinFunc(inputs, func(a, b []byte) int { return len(a) - len(b) }))
	n := f.spent(inputs)
	switch half := len(inputs) / 2; {
	case n <= limit:
		f.worst = max(f.worst, n)
	case half > 0:
		f.look(inputs[:half])
		f.look(inputs[half:])
	default:
		f.blame(inputs, limit)
	}
}

// blame takes an input that has cost too much. Others may allocate meanwhile: the least of several times counts.
func (f *frugality) blame(input [][]byte, limit int) {
	for range 3 {
		if n := f.spent(input); n <= limit {
			f.worst = max(f.worst, n)
			return
		}
	}
	b := input[0]
	f.t.Errorf("%d bytes of input cost more than %d bytes of memory: %s…",
		len(b), limit, hex.EncodeToString(b[:min(len(b), 120)]))
}

// limit is how many bytes an input may cost.
func (f *frugality) limit(b []byte) int { return f.perByte*len(b) + frugalFree }

// spent returns how many bytes decoding allocates.
func (f *frugality) spent(inputs [][]byte) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, b := range inputs {
		f.decode(b)
	}
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// frugalFree is what a decoder may allocate whatever its input is.
const frugalFree = 64 << 10

// greedyHeads announce much: byte and text strings, arrays and maps of CBOR, with 4,000, 2^16,
// 2^31-1 and 2^32 elements, and plain lengths of several widths.
var greedyHeads = func() (heads [][]byte) {
	for _, length := range []string{"990fa0", "9a00010000", "9a7fffffff", "9b0000000100000000"} {
		b, _ := hex.DecodeString(length)
		for _, major := range []byte{0x40, 0x60, 0x80, 0xa0} {
			h := slices.Clone(b)
			h[0] = h[0]&0x1f | major
			heads = append(heads, h)
		}
	}
	return append(heads, []byte("\xff\xff\xff\xff\x0f"), []byte("\x7f\xff\xff\xff"),
		[]byte("\x00\x00\x00\x01\x00\x00\x00\x00"))
}()
