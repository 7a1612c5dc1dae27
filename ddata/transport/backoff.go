package transport

import (
	"math/rand/v2"
	"time"
)

// backoff is the pause between attempts to connect: it doubles from min to max, and each pause is
// drawn from its upper half so that the links of a cluster do not dial in step.
type backoff struct {
	min, max time.Duration
	next     time.Duration
}

func (b *backoff) pause() time.Duration {
	d := max(b.next, b.min)
	b.next = min(2*d, b.max)
	return d/2 + rand.N(d/2+1)
}

func (b *backoff) reset() { b.next = 0 }
