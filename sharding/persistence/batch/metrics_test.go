package batch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// notes is a Meter that keeps each observation.
type notes struct {
	mu  sync.Mutex
	all map[string][]float64
}

func (*notes) Read(func(func(*events.Metric, float64, ...string))) func() { return func() {} }

func (n *notes) Histogram(m *events.Metric, labels ...string) events.Observer {
	return note{n, fmt.Sprint(m.Name[len("coterie_persistence_"):], labels)}
}

type note struct {
	n    *notes
	name string
}

func (o note) Observe(_ context.Context, v float64) {
	o.n.mu.Lock()
	defer o.n.mu.Unlock()
	o.n.all[o.name] = append(o.n.all[o.name], v)
}

// TestTimes measures what entities wait for, and what the store takes. A request waits for the fence,
// for the call before its own, and for a repetition. What fails is not among the times.
func TestTimes(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		n := &notes{all: map[string][]float64{}}
		w := newWorldWith(t, Settings{RetryFirst: 50 * time.Millisecond}, n)
		h := hostingOn(1, 1)
		takes := map[string]time.Duration{"Fence": time.Millisecond, "Append": 10 * time.Millisecond}
		slow := func(_ context.Context, call string) error {
			<-time.After(takes[call])
			return nil
		}
		w.store.Before(slow)
		var all sync.WaitGroup
		add := func(id protocol.EntityID, after uint64, want error) {
			all.Add(1)
			w.c.Append(h, writeOf(id, after, "x"), func(err error) {
				wantErr(t, err, want)
				all.Done()
			})
		}
		add("a", 0, nil) // 11 ms
		<-time.After(5 * time.Millisecond)
		add("b", 0, nil) // they wait for 6 ms, in vain for 10 more for "a", and share a call of 10
		add("c", 0, nil)
		add("d", 7, persistence.ErrConflict)
		all.Wait()

		w.store.Before(func(context.Context, string) error {
			w.store.Before(slow)
			return errBroken
		})
		add("e", 0, nil) // it fails at once, rests for 50 ms, and takes 10
		all.Wait()
		w.close()
		want := map[string][]float64{
			"call_duration_seconds[cart fence]":     {.001},
			"call_duration_seconds[cart append]":    {.01, .01, .01},
			"request_duration_seconds[cart append]": {.011, .026, .026, .06},
			"call_requests[cart append]":            {1, 2, 1},
		}
		if !maps.EqualFunc(n.all, want, slices.Equal) {
			t.Errorf("observed %v, want %v", n.all, want)
		}
	})
}
