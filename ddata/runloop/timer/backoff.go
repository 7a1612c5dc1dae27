package timer

import "time"

// Backoff returns the pause before the next try, after so many tries in vain since the first pause.
// It begins with first, doubles with each try, and is never longer than most.
func Backoff[T ~int64 | ~uint32](first, most T, tries int) T {
	for ; tries > 0 && 0 < first && first < most; tries-- {
		if first > most/2 {
			return most
		}
		first *= 2
	}
	return min(first, most)
}

// Jitter returns a pause from the upper half of d, so that many nodes do not act in step. The draw
// returns a value from 0 up to, and without, n.
func Jitter(d time.Duration, draw func(n time.Duration) time.Duration) time.Duration {
	return d/2 + draw(d/2+1)
}
