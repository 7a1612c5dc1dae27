package asks

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding/failure"
)

// intSink takes an int.
type intSink struct{ v int }

func (s *intSink) Accept(v any) error  { s.v = v.(int); return nil }
func (s *intSink) Decode([]byte) error { return nil }

// Questions that end early free their slots at once. Replies that come late find no question, and
// never the slot's next one.
func TestLateRepliesReachNobody(t *testing.T) {
	a := table(4)
	ids := make(chan uint64, 64)
	var answering sync.WaitGroup
	for range 4 {
		answering.Go(func() {
			for id := range ids {
				a.Answer(id, int(id), nil)
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
				c, id, err := a.Begin(s)
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

// A question ends by the time-out, by the loss of its node, or with all others.
func TestEndsOfQuestions(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		began := time.Now()
		clock := func() time.Duration { return time.Since(began) }
		a := NewTable(8, time.Second, clock, scheduler.Goroutines{})
		defer a.Stop()
		late, _, _ := a.Begin(&intSink{})
		a.Bound(late)
		gone, id, _ := a.Begin(&intSink{})
		a.Sent(id, 7)
		passed, id, _ := a.Begin(&intSink{})
		a.Sent(id, 9)
		kept, id, _ := a.Begin(&intSink{})
		a.Sent(id, 8)
		if err := a.Await(t.Context(), late, nil); !errors.Is(err, failure.ErrTimeout) || a.Late() != 1 ||
			clock() < time.Second || clock() > time.Second+sweepEvery {
			t.Errorf("after %v: %v, %d late", clock(), err, a.Late())
		}
		a.PassedOn(9)
		if !a.Sweep(func(n uint64) bool { return n == 7 || n == 9 }) || a.Open() != 3 {
			t.Errorf("%d pending", a.Open())
		}
		if err := a.Await(t.Context(), gone, nil); !errors.Is(err, failure.ErrNodeGone) {
			t.Error(err)
		}
		a.FailAll(failure.ErrStopped)
		for _, c := range []*Call{kept, passed} {
			if err := a.Await(t.Context(), c, nil); !errors.Is(err, failure.ErrStopped) {
				t.Error(err)
			}
		}
		if a.Sweep(nil) || a.Open() != 0 || a.Late() != 1 {
			t.Errorf("%d pending, %d late", a.Open(), a.Late())
		}
	})
}

// A question has nothing of the deadline of an earlier one in the same slot.
func TestSlotsForgetTheirDeadline(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := table(1)
		defer a.Stop()
		c, id, _ := a.Begin(&intSink{})
		a.Bound(c)
		a.Answer(id, 1, nil)
		if err := a.Await(t.Context(), c, nil); err != nil {
			t.Fatal(err)
		}
		s := &intSink{}
		c, id, _ = a.Begin(s) // its context has the deadline
		<-time.After(2 * a.timeout)
		if !a.Sweep(nil) || !a.Answer(id, 2, nil) {
			t.Error("it has ended at the deadline of the question before")
		}
		if err := a.Await(t.Context(), c, nil); err != nil || s.v != 2 || a.Late() != 0 {
			t.Errorf("%v, %d, %d late", err, s.v, a.Late())
		}
	})
}

// A question that could not be sent ends with that error, unless it was answered all the same. One
// whose context ends is out of time.
func TestEndsOfQuestionsThatWereNotSent(t *testing.T) {
	a := table(2)
	defer a.Stop()
	unsent := errors.New("unsent")
	c, _, _ := a.Begin(&intSink{})
	if err := a.Await(t.Context(), c, unsent); err != unsent {
		t.Error(err)
	}
	s := &intSink{}
	c, id, _ := a.Begin(s)
	if !a.Answer(id, 5, nil) || a.Answer(id, 6, nil) {
		t.Error("not answered once")
	}
	if err := a.Await(t.Context(), c, unsent); err != nil || s.v != 5 {
		t.Errorf("%v, %d", err, s.v)
	}
	c, id, _ = a.Begin(s)
	if !a.AnswerBody(id, nil, unsent) {
		t.Error("an error answers nothing")
	}
	if err := a.Await(t.Context(), c, nil); err != unsent {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	c, id, _ = a.Begin(s)
	if err := a.Await(ctx, c, nil); !errors.Is(err, failure.ErrTimeout) || a.Late() != 1 {
		t.Errorf("%v, %d late", err, a.Late())
	}
	if a.Answer(id, 7, nil) {
		t.Error("a question that is over was answered")
	}
	if _, _, err := a.Begin(s); err != nil {
		t.Error(err)
	}
	if _, _, err := a.Begin(s); err != nil {
		t.Error(err)
	}
	if _, _, err := a.Begin(s); !errors.Is(err, failure.ErrTooManyAsks) {
		t.Errorf("a third of two: %v", err)
	}
}

// A question's node that is noted late is not noted of the slot's next question. Otherwise that
// question would end when a node goes to which it was never sent.
func TestWhereAQuestionWentIsNotNotedOfTheNext(t *testing.T) {
	a := table(1)
	c, first, err := a.Begin(&intSink{})
	if err != nil {
		t.Fatal(err)
	}
	c.mu.Lock() // the slot changes hands
	noted := make(chan struct{})
	go func() {
		a.Sent(first, 7)
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
	a.Sent((first>>32+1)<<32|uint64(c.index), 8)
	if n := c.node.Load(); n != 8 {
		t.Errorf("the present one is said to be at node %d, not at 8", n)
	}
}

// table makes a table on the clock of the process.
func table(limit int) *Table {
	began := time.Now()
	return NewTable(limit, time.Minute, func() time.Duration { return time.Since(began) }, scheduler.Goroutines{})
}

// All questions that a node has passed on are elsewhere, however many there are.
func TestAllThatWasPassedOnIsElsewhere(t *testing.T) {
	a := table(2*segmentSize + 1)
	ids := make([]uint64, a.limit)
	for i := range ids {
		_, id, err := a.Begin(&intSink{})
		if err != nil {
			t.Fatal(err)
		}
		a.Sent(id, 7)
		ids[i] = id
	}
	a.PassedOn(7)
	a.Sweep(func(node uint64) bool { return node == 7 })
	for i, id := range ids {
		if !a.Answer(id, 1, nil) {
			t.Fatalf("question %d has ended with the node that passed it on", i)
		}
	}
}
