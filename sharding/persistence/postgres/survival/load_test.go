package survival

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/judge"
)

const (
	manyCounters = 1000
	manyAccounts = 200
	// sharers is how many callers increment an entity.
	sharers = 4
)

// everyEntity is all that are incremented.
func everyEntity() (all []judge.Entity) {
	for i := range manyCounters {
		all = append(all, entity(counters, i))
	}
	for i := range manyAccounts {
		all = append(all, entity(accounts, i))
	}
	return all
}

// told is a line of what callers have asked and were answered, in the order of time.
type told struct {
	entity   judge.Entity
	number   uint64
	answered bool
	receipt  judge.Receipt
}

// load is the callers.
type load struct {
	c      *cluster
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu                sync.Mutex
	log               []told
	failures          map[string]int // the errors, without what is particular
	acked, goal       int
	reached           chan struct{} // closed when acked is goal
	repeated, givenUp int
}

// startLoad starts the callers.
func startLoad(c *cluster) *load {
	ctx, cancel := context.WithCancel(c.patient())
	l := &load{c: c, cancel: cancel, failures: map[string]int{}}
	for caller := range uint64(callers) {
		l.wg.Go(func() {
			for n := uint64(1); ctx.Err() == nil; n++ {
				l.increment(l.draw(caller), n*callers+caller)
			}
		})
	}
	return l
}

// draw chooses an entity for a caller.
func (l *load) draw(caller uint64) judge.Entity {
	const groups = callers / sharers
	typ, many := counters, manyCounters
	if rand.IntN(5) == 0 {
		typ, many = accounts, manyAccounts
	}
	group := int(caller % groups)
	return entity(typ, group+groups*rand.IntN((many-group+groups-1)/groups))
}

// increment asks until it is answered, or gives up after a failure, sometimes. It reports whether it was
// answered.
func (l *load) increment(e judge.Entity, number uint64) bool {
	l.note(told{entity: e, number: number})
	ctx := context.WithoutCancel(l.c.t.Context())
	for began := time.Now(); ; {
		q := question{Type: e.Type, ID: e.ID, Number: number, Adds: true, Within: 10 * time.Second}
		r, err := l.c.ask(ctx, rand.IntN(nodes), q)
		if err == nil {
			l.note(told{e, number, true, r})
			return true
		}
		if l.failed(err) || time.Since(began) > patience {
			return false
		}
		pause(ctx, time.Duration(rand.IntN(50))*time.Millisecond)
	}
}

// particular is what differs between errors of one kind: names and numbers.
var particular = regexp.MustCompile(`"[^"]*"|/[^ :]*|[0-9][0-9.]*`)

// failed counts a failure, and reports whether the caller gives up.
func (l *load) failed(err error) (givesUp bool) {
	kind := particular.ReplaceAllString(err.Error(), "…")
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures[kind[:min(len(kind), 200)]]++
	l.repeated++
	if rand.IntN(20) > 0 {
		return false
	}
	l.givenUp++
	return true
}

func (l *load) note(x told) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log = append(l.log, x)
	if x.answered {
		if l.acked++; l.acked == l.goal {
			close(l.reached)
		}
	}
}

// more waits until so many increments more are acknowledged.
func (l *load) more(n int) {
	l.c.t.Helper()
	l.mu.Lock()
	l.goal, l.reached = l.acked+n, make(chan struct{})
	reached := l.reached
	l.mu.Unlock()
	select {
	case <-reached:
	case <-l.c.patient().Done():
		l.c.t.Fatalf("the callers do not get %d increments acknowledged in %v; they get\n%s", n, patience, l.errors())
	}
}

// rest ends the load, and returns when no increment is open.
func (l *load) rest() {
	l.cancel()
	l.wg.Wait()
	l.c.say("%d increments asked, %d acknowledged, %d failures, %d given up; the errors are\n%s",
		len(l.log)-l.acked, l.acked, l.repeated, l.givenUp, l.errors())
}

// errors are what callers got.
func (l *load) errors() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var text strings.Builder
	for _, words := range slices.Sorted(maps.Keys(l.failures)) {
		fmt.Fprintf(&text, "\t%5d %s\n", l.failures[words], words)
	}
	return text.String()
}
