package upgrade

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

const (
	callLimit = 5 * time.Second  // of one call
	opLimit   = 60 * time.Second // of an operation, with all its calls
	clients   = 4                // that operate at a time
	sets      = 6                // of each kind
)

// load adds elements to sets, on whichever nodes are open to clients, until it is stopped. An element that
// is not acknowledged is added again, by another node perhaps: adding twice adds once.
type load struct {
	c      *cluster
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu      sync.Mutex
	acked   map[string][]string // set → elements
	count   int                 // of acked
	failed  []string            // operations that were given up, with the last error
	repeats int                 // calls that failed, and were made again
	longest time.Duration       // of an acknowledged operation
}

func startLoad(t *testing.T, c *cluster) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &load{c: c, cancel: cancel, acked: map[string][]string{}}
	for client := range clients {
		l.done.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				l.operate(ctx, client, n)
			}
		})
	}
	return l
}

// operate adds one element, and waits until that is acknowledged. An operation that has begun is ended also
// when the load is stopped.
func (l *load) operate(ctx context.Context, client, n int) {
	kinds := []struct{ call, set string }{
		{callAdd, "volatile/"}, {callAdd, "durable/"}, {callTell, "entity-"},
	}
	k := kinds[n%len(kinds)]
	a := Addition{fmt.Sprint(k.set, rand.IntN(sets)), fmt.Sprintf("%d.%d", client, n)}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), opLimit)
	defer cancel()
	began := time.Now()
	for {
		err := l.c.call(ctx, k.call, a, nil)
		l.mu.Lock()
		switch {
		case err == nil:
			l.acked[a.Set] = append(l.acked[a.Set], a.Element)
			l.longest = max(l.longest, time.Since(began))
			l.count++
		case ctx.Err() != nil:
			l.failed = append(l.failed, fmt.Sprintf("%s %+v: %v", k.call, a, err))
			err = nil
		default:
			l.repeats++
		}
		l.mu.Unlock()
		if err == nil {
			return
		}
	}
}

// so reports what was done so far.
func (l *load) so() (count, repeats int, longest time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count, l.repeats, l.longest
}

// stop ends the load, and checks it: no operation has failed, and every acknowledged element is there.
func (l *load) stop(t *testing.T) {
	t.Helper()
	l.cancel()
	l.done.Wait()
	for _, text := range l.failed {
		t.Error("failed:", text)
	}
	lost := 0
	for set, elements := range l.acked {
		var got []string
		if err := l.c.call(t.Context(), callRead, set, &got); err != nil {
			t.Fatal(err)
		}
		there := map[string]bool{}
		for _, e := range got {
			there[e] = true
		}
		for _, e := range elements {
			if !there[e] {
				lost++
				t.Errorf("%s of %s was acknowledged and is not there", e, set)
			}
		}
	}
	t.Logf("%d operations acknowledged, %d failed, %d lost; %d calls were made again; the longest operation took %v",
		l.count, len(l.failed), lost, l.repeats, l.longest.Round(time.Millisecond))
}
