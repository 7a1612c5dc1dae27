package sharding

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// intSink takes an int.
type intSink struct{ v int }

func (s *intSink) accept(v any) error  { s.v = v.(int); return nil }
func (s *intSink) decode([]byte) error { return nil }

// Questions that end early free their slots at once; replies that come late find nobody, and never the slot's next user.
func TestLateRepliesReachNobody(t *testing.T) {
	a := newAsks(4)
	ids := make(chan uint64, 64)
	var answering sync.WaitGroup
	for range 4 {
		answering.Go(func() {
			for id := range ids {
				a.answer(id, int(id), nil)
			}
		})
	}
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			if i%2 == 0 {
				cancel() // gives up at once
			}
			defer cancel()
			for range 3000 {
				s := &intSink{}
				c, id, err := a.begin(s)
				if errors.Is(err, ErrTooManyAsks) {
					continue
				}
				ids <- id
				err = c.wait(ctx)
				if err == nil && s.v != int(id) {
					t.Errorf("question %x got the answer of %x", id, s.v)
				}
				if err != nil && i%2 == 1 {
					t.Errorf("lost: %v", err)
				}
				a.end(c)
			}
		})
	}
	wg.Wait()
	close(ids)
	answering.Wait()
	if len(a.free) != a.made {
		t.Errorf("%d of %d slots are free", len(a.free), a.made)
	}
}

func TestSweep(t *testing.T) {
	a := newAsks(8)
	late, _, _ := a.begin(&intSink{})
	late.deadline.Store(int64(time.Second))
	gone, id, _ := a.begin(&intSink{})
	a.asked(id, 7)
	kept, id, _ := a.begin(&intSink{})
	a.asked(id, 8)
	if !a.sweep(2*time.Second, func(n uint64) bool { return n == 7 }) {
		t.Error("nothing is pending")
	}
	if err := late.wait(t.Context()); !errors.Is(err, ErrTimeout) {
		t.Error(err)
	}
	if err := gone.wait(t.Context()); !errors.Is(err, ErrNodeGone) {
		t.Error(err)
	}
	a.failAll(ErrStopped)
	if err := kept.wait(t.Context()); !errors.Is(err, ErrStopped) {
		t.Error(err)
	}
	if a.sweep(0, nil) {
		t.Error("something is pending")
	}
}
