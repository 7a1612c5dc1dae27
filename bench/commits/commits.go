package commits

import (
	"context"
	"fmt"
	"slices"
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
	// ByShard adds a limit with a caller for each shard, and an event of each writer there in each call.
	ByShard bool
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
	if _, err := measure.Callers(n, d/turns, add); err != nil { // the entities start, the connections are made
		return err
	}
	limits := s.limits(n)
	for _, l := range limits {
		if _, err := measure.Callers(l.callers, d/turns, l.call(ctx)); err != nil {
			return err
		}
	}
	var own measure.Load
	loads := []func() error{func() error { return own.More(n, d/turns, add) }}
	for _, l := range limits {
		loads = append(loads, func() error { return l.load.More(l.callers, d/turns, l.call(ctx)) })
	}
	for range turns {
		for _, load := range loads {
			if err := load(); err != nil {
				return err
			}
		}
		slices.Reverse(loads) // what one leaves to be done on other nodes weighs on each of the others
	}
	var f measure.Figures
	f.Add("events_per_s", int(own.PerSecond()))
	f.Add("p50_us", own.Percentile(0.5))
	f.Add("p99_us", own.Percentile(0.99))
	f.Add("cpu_us_per_event", own.CPUMicros())
	for _, l := range limits {
		l.report(&f, own)
	}
	measure.Report("persist", fmt.Sprintf("%s-%d-entities", s.Store, n), f)
	return nil
}

// turns share what else the machine does.
const turns = 8

// last is the highest number of an event without entities.
var last atomic.Uint64
