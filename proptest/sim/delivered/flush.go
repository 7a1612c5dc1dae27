package delivered

import (
	"context"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/workload"
)

// Flush is how far a producer is that is waited for, in the healed world, until it holds nothing.
type Flush struct {
	Done  bool // it held nothing
	under bool // it is being waited for
}

// On waits by a routine of the producer's process, for most at a time; flush is Producer.Flush.
func (f *Flush) On(p workload.Process, most time.Duration, flush func(context.Context) error) {
	if f.Done || f.under {
		return
	}
	f.under = true
	p.Enter(func() {
		ctx, cancel := p.WithTimeout(context.Background(), most)
		defer cancel()
		f.Done = flush(ctx) == nil
		f.under = false
	})
}
