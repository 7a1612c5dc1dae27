package dataplane

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/failure"
)

// intSink takes an int.
type intSink struct{ v int }

func (s *intSink) accept(v any) error  { s.v = v.(int); return nil }
func (s *intSink) Decode([]byte) error { return nil }

// Questions that end early free their slots at once. Replies that come late find no question, and
// never the slot's next one.
func TestLateRepliesReachNobody(t *testing.T) {
	a := newAsks(4, scheduler.Goroutines{})
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
				if errors.Is(err, failure.ErrTooManyAsks) {
					continue
				}
				ids <- id
				err = a.wait(ctx, c)
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
	a := newAsks(8, scheduler.Goroutines{})
	late, _, _ := a.begin(&intSink{})
	late.deadline.Store(int64(time.Second))
	gone, id, _ := a.begin(&intSink{})
	a.asked(id, 7)
	kept, id, _ := a.begin(&intSink{})
	a.asked(id, 8)
	if !a.Sweep(2*time.Second, func(n uint64) bool { return n == 7 }) {
		t.Error("nothing is pending")
	}
	if err := a.wait(t.Context(), late); !errors.Is(err, failure.ErrTimeout) {
		t.Error(err)
	}
	if err := a.wait(t.Context(), gone); !errors.Is(err, failure.ErrNodeGone) {
		t.Error(err)
	}
	a.FailAll(failure.ErrStopped)
	if err := a.wait(t.Context(), kept); !errors.Is(err, failure.ErrStopped) {
		t.Error(err)
	}
	if a.Sweep(0, nil) {
		t.Error("something is pending")
	}
}

// A question's node that is noted late is not noted of the slot's next question. Otherwise that
// question would end when a node goes to which it was never sent.
func TestWhereAQuestionWentIsNotNotedOfTheNext(t *testing.T) {
	a := newAsks(1, scheduler.Goroutines{})
	c, first, err := a.begin(&intSink{})
	if err != nil {
		t.Fatal(err)
	}
	c.mu.Lock() // the slot changes hands
	noted := make(chan struct{})
	go func() {
		a.asked(first, 7)
		close(noted)
	}()
	for range 1000 { // it looks, and waits
		runtime.Gosched()
	}
	c.openLocked(first>>32 + 1)
	c.mu.Unlock()
	<-noted
	if n := c.node.Load(); n != 0 {
		t.Errorf("the next question is said to be at node %d", n)
	}
	a.asked((first>>32+1)<<32|uint64(c.index), 8)
	if n := c.node.Load(); n != 8 {
		t.Errorf("the present one is said to be at node %d, not at 8", n)
	}
}
