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

// A tag says of the bits that it has what the hash says, and of no other.
func TestTagged(t *testing.T) {
	for _, bits := range []int{8, 16} {
		for _, hash := range []uint32{0, 1 << TagFrom, 0x9e3779b9, 0x61c88647, 1<<32 - 1} {
			tag := hash >> TagFrom & (1<<bits - 1)
			for at := range 32 {
				set, known := Tagged(tag, bits, 1<<at)
				if has := at >= TagFrom && at < TagFrom+bits; known != has || known && set != (hash>>at&1 != 0) {
					t.Errorf("bit %d of %x by a tag of %d bits: %v, known %v", at, hash, bits, set, known)
				}
			}
		}
	}
}
