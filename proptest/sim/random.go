package sim

import "math/rand/v2"

// Each concern draws from a stream of its own, so that a change in one (a message more, a checker
// that draws) leaves the others as they were and a seed keeps its story.
type streams struct {
	seed uint64
}

// stream returns the generator of a concern; n tells several of one kind apart.
func (s streams) stream(concern string, n uint64) *rand.Rand {
	h := uint64(14695981039346656037)
	for i := range len(concern) {
		h = (h ^ uint64(concern[i])) * 1099511628211
	}
	return rand.New(rand.NewPCG(mix(s.seed^h), mix(h+n*0x9e3779b97f4a7c15)))
}

// mix is the finalizer of splitmix64.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// chance reports true with probability p.
func chance(r *rand.Rand, p float64) bool { return p > 0 && r.Float64() < p }

// between draws from lo to hi, hi not included; lo when they are equal.
func between(r *rand.Rand, lo, hi int64) int64 {
	if hi <= lo {
		return lo
	}
	return lo + r.Int64N(hi-lo)
}

// pick draws one of the choices.
func pick[T any](r *rand.Rand, choices ...T) T { return choices[r.IntN(len(choices))] }
