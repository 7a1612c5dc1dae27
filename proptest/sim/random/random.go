package random

import "math/rand/v2"

// Streams are the generators of one seed.
type Streams struct {
	Seed uint64
}

// Stream returns the generator of a concern; n tells several of one kind apart.
func (s Streams) Stream(concern string, n uint64) *rand.Rand {
	h := uint64(14695981039346656037)
	for i := range len(concern) {
		h = (h ^ uint64(concern[i])) * 1099511628211
	}
	return rand.New(rand.NewPCG(Mix(s.Seed^h), Mix(h+n*0x9e3779b97f4a7c15)))
}

// Mix is the finalizer of splitmix64.
func Mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// Chance reports true with probability p.
func Chance(r *rand.Rand, p float64) bool { return p > 0 && r.Float64() < p }

// Between draws from lo to hi, hi not included; lo when they are equal.
func Between(r *rand.Rand, lo, hi int64) int64 {
	if hi <= lo {
		return lo
	}
	return lo + r.Int64N(hi-lo)
}

// Pick draws one of the choices.
func Pick[T any](r *rand.Rand, choices ...T) T { return choices[r.IntN(len(choices))] }
