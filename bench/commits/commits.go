package commits

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/sharding"
)

// Body is the length of what each event carries, in bytes.
const Body = 100

// rowsMax is how many events a call without entities has at most: as many as one of the client of the
// entities.
const rowsMax = 256

// Subject is a store with entities on it.
type Subject struct {
	Store  string // its name on the printed lines
	Region *sharding.Region[Command]
	// Raw has the store take events without entities, in one call: events with numbers that no other
	// call has, from a number on, of as many entities as there are, in turn.
	Raw func(ctx context.Context, from uint64, events, entities int) error
	// ByRow says that a call without entities has one event, and that there is a caller for each writer:
	// the store makes batches itself.
	ByRow bool
}

// Run prints a line for 1, 64 and 1,000 entities with a writer each. Each is measured for d, and so is
// the store without them.
func (s Subject) Run(ctx context.Context, d time.Duration) error {
	for _, n := range []int{1, 64, 1000} {
		if err := s.commits(ctx, n, d); err != nil {
			return fmt.Errorf("%s, %d entities: %w", s.Store, n, err)
		}
	}
	return nil
}

func (s Subject) commits(ctx context.Context, n int, d time.Duration) error {
	refs := make([]*sharding.EntityRef[Command], n)
	for i := range refs {
		refs[i] = s.Region.Ref(fmt.Sprintf("%d-of-%d", i, n))
	}
	body := make([]byte, Body)
	add := func(caller, _ int) error {
		_, err := sharding.Ask(ctx, refs[caller], Add{Body: body})
		return err
	}
	rawCallers, rows := (n+rowsMax-1)/rowsMax, n
	if rows = n / rawCallers; s.ByRow {
		rawCallers, rows = n, 1
	}
	raw := func(int, int) error { return s.Raw(ctx, last.Add(uint64(rows)), rows, n) }
	if _, err := measure.Callers(n, d/turns, add); err != nil { // the entities start, the connections are made
		return err
	}
	if _, err := measure.Callers(rawCallers, d/turns, raw); err != nil {
		return err
	}
	var l, limit measure.Load
	for range turns {
		if err := limit.More(rawCallers, d/turns, raw); err != nil {
			return err
		}
		if err := l.More(n, d/turns, add); err != nil {
			return err
		}
	}
	var f measure.Figures
	f.Add("events_per_s", int(l.PerSecond()))
	f.Add("p50_us", l.Percentile(0.5))
	f.Add("p99_us", l.Percentile(0.99))
	f.Add("cpu_us_per_event", l.CPUMicros())
	perCall := float64(rows)
	f.Add("limit_events_per_s", int(limit.PerSecond()*perCall))
	f.Add("limit_p50_us", limit.Percentile(0.5))
	f.Add("limit_p99_us", limit.Percentile(0.99))
	f.Add("limit_cpu_us_per_event", limit.CPUMicros()/perCall)
	f.Add("ratio", l.PerSecond()/(limit.PerSecond()*perCall))
	measure.Report("persist", fmt.Sprintf("%s-%d-entities", s.Store, n), f)
	return nil
}

// turns share what else the machine does.
const turns = 8

// last is the highest number of an event without entities.
var last atomic.Uint64
