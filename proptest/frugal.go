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
	worst, inputs := 0, 0
	try := func(b []byte) {
		inputs++
		if n := spent(decode, b); n > worst {
			worst = n
		}
		limit := perByte*len(b) + frugalFree
		for range 3 { // others may allocate meanwhile: the least counts
			if spent(decode, b) <= limit {
				return
			}
		}
		t.Errorf("%d bytes of input cost more than %d bytes of memory: %s…",
			len(b), limit, hex.EncodeToString(b[:min(len(b), 120)]))
	}
	for _, seed := range seeds {
		try(seed)
		stride := 1 + len(seed)/200
		for at := 0; at < len(seed) && !t.Failed(); at += stride {
			for _, head := range greedyHeads {
				front := slices.Concat(seed[:at], head)
				try(slices.Concat(front, seed[min(at+1, len(seed)):]))
				for _, filler := range []byte{0x00, 0x80, 0xa0} {
					try(slices.Concat(front, bytes.Repeat([]byte{filler}, 4000)))
				}
			}
		}
	}
	t.Logf("%d inputs, %d bytes allocated at most", inputs, worst)
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

// spent returns how many bytes decoding allocates.
func spent(decode func([]byte), b []byte) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	decode(b)
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}
