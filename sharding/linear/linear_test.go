package linear

import "testing"

// A new chain gets what the one that is divided has with the bit set, and no other hash moves.
func TestOnlyTheDividedChainChanges(t *testing.T) {
	for n := uint32(1); n < 300; n++ {
		from, bit := Split(n)
		for hash := range uint32(2048) {
			before, after := Chain(hash, n), Chain(hash, n+1)
			if before >= n {
				t.Fatalf("hash %d is in chain %d of %d", hash, before, n)
			}
			want := before
			if before == from && hash&bit != 0 {
				want = n
			}
			if after != want {
				t.Fatalf("hash %d goes from chain %d to %d when %d is added, want %d", hash, before, after, n, want)
			}
		}
	}
}
