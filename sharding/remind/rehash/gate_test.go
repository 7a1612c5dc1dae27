package rehash

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remind"
	"github.com/coterie-go/coterie/sharding/remind/memory"
)

// While reminders are being moved calls wait, and fail with the layouts when their time is over.
func TestGate(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var s memory.Store
		fill(t, &s, 3, 1)
		g := gateOf(&s, 6)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := g.Of(ctx, term(2, 2), 1, "e1"); !errors.Is(err, ErrMoving) {
			t.Errorf("%v, want %v", err, ErrMoving)
		}
		answers := make(chan error, 3)
		for shard := range protocol.ShardID(3) {
			go func() {
				_, _, err := g.All(t.Context(), term(2, 2), shard, remind.Key{}, 1)
				answers <- err
			}()
		}
		synctest.Wait()
		if len(answers) > 0 {
			t.Fatalf("a call passes: %v", <-answers)
		}
		if _, err := moverOf(&s, 6).Run(t.Context(), term(2, 1), term(2, 1)); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := <-answers; err != nil {
				t.Error(err)
			}
		}
	})
}

// Once the wait is over, calls fail at once, however many there are.
func TestLaterCallsFailAtOnce(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var s memory.Store
		fill(t, &s, 3, 1)
		g := gateOf(&s, 6)
		if _, err := g.Of(t.Context(), term(2, 2), 1, "e1"); !errors.Is(err, ErrMoving) {
			t.Fatal(err)
		}
		began := time.Now()
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if _, err := g.Of(t.Context(), term(2, 2), 1, "e1"); !errors.Is(err, ErrMoving) {
					t.Errorf("%v, want %v", err, ErrMoving)
				}
			})
		}
		all.Wait()
		if took := time.Since(began); took > 150*time.Millisecond {
			t.Errorf("they fail after %v", took)
		}
	})
}

// A look of the store that a call makes answers all that wait. One whose call has ended is made by another.
func TestOneLookAnswersAll(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var s memory.Store
		looks := 0
		s.Before(func(ctx context.Context, _ string) error {
			looks++
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Second):
				return errFailing
			}
		})
		g := gateOf(&s, 6)
		ctx, end := context.WithCancel(t.Context())
		errs := make(chan error, 5)
		of := func(ctx context.Context) {
			_, err := g.Of(ctx, term(2, 2), 1, "e1")
			errs <- err
		}
		go of(ctx)
		synctest.Wait()
		for range 4 {
			go of(t.Context())
		}
		synctest.Wait()
		end()
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		for range 4 {
			if err := <-errs; !errors.Is(err, errFailing) {
				t.Errorf("%v, want the error of the store", err)
			}
		}
		if looks != 2 {
			t.Errorf("%d looks, want that of the call which has ended, and one for the others", looks)
		}
	})
}

// Without a record calls pass, and none is written before all nodes know of it. A record that is there counts.
func TestGateWithoutARecord(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var s memory.Store
		var writes atomic.Bool
		looks := 0
		s.Before(func(_ context.Context, call string) error {
			if call == "Of" {
				looks++
			}
			return nil
		})
		open := func() *Gate {
			g := gateOf(&s, 6)
			g.cfg.Writes = writes.Load
			return g
		}
		g := open()
		for range 10 {
			if _, _, err := g.Due(t.Context(), term(2, 2), 1, noon, 1); err != nil {
				t.Fatal(err)
			}
		}
		if r, err := read(t.Context(), &s); r.version != 0 || err != nil || looks != 2 { // one is that of the test
			t.Errorf("%+v, %v after %d looks", r, err, looks)
		}
		writes.Store(true)
		if _, _, err := g.Due(t.Context(), term(2, 2), 1, noon, 1); err != nil {
			t.Fatal(err)
		}
		if r, err := read(t.Context(), &s); !r.settled(layoutOf(6)) || err != nil {
			t.Errorf("%+v, %v", r, err)
		}
		if err := write(t.Context(), &s, term(3, 1), 1, record{layout: layoutOf(3), version: 1}); err != nil {
			t.Fatal(err)
		}
		writes.Store(false)
		if _, _, err := open().Due(t.Context(), term(2, 2), 1, noon, 1); !errors.Is(err, ErrMoving) {
			t.Errorf("%v, want %v", err, ErrMoving)
		}
	})
}

// A watch tells of the layout's own shards.
func TestGateWatches(t *testing.T) {
	var s memory.Store
	fill(t, &s, 6, 1)
	var told []protocol.ShardID
	cancel := gateOf(&s, 3).Watch(func(shard protocol.ShardID, _ bool) { told = append(told, shard) })
	defer cancel()
	if !slices.Equal(told, []protocol.ShardID{0, 1, 2}) {
		t.Errorf("it tells of %v", told)
	}
}
