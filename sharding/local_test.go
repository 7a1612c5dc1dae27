package sharding

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/proptest/bubble"
)

func TestTellThenAsk(t *testing.T) {
	ctx := t.Context()
	g, _ := localRegion(t, cartType(&cartLog{}))
	for i := range 10 {
		if err := g.Tell(ctx, "cart-42", addItem{"apple", i}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := Ask(ctx, g.Ref("cart-42"), total{}); err != nil || n != 45 {
		t.Fatalf("total %d, %v", n, err)
	}
	if s, err := Ask(ctx, g.Ref("cart-42"), echo{Text: "hi"}); err != nil || s != "hi" {
		t.Fatalf("echo %q, %v", s, err)
	}
}

func TestIDs(t *testing.T) {
	g, _ := localRegion(t, cartType(&cartLog{}))
	for _, id := range []string{"", string(make([]byte, 513)), "a\xff"} {
		if err := g.Tell(t.Context(), id, addItem{}); !errors.Is(err, ErrInvalidID) {
			t.Errorf("%q: %v", id, err)
		}
		if err := g.Ref(id).Tell(t.Context(), addItem{}); !errors.Is(err, ErrInvalidID) {
			t.Errorf("ref %q: %v", id, err)
		}
	}
}

func TestFailuresAreAnswered(t *testing.T) {
	g, _ := localRegion(t, cartType(&cartLog{}))
	if _, err := Ask(t.Context(), g.Ref("a"), crash{}); !errors.Is(err, ErrHandler) {
		t.Errorf("crash: %v", err)
	}
	if _, err := Ask(t.Context(), g.Ref("a"), failing{}); !errors.Is(err, ErrHandler) {
		t.Errorf("failing: %v", err)
	}
	if _, err := Ask(t.Context(), g.Ref("a"), silent{}); !errors.Is(err, ErrNoReply) {
		t.Errorf("silent: %v", err)
	}
}

func TestAskTimeoutWithoutDeadline(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		typ := cartType(&cartLog{})
		typ.Timeouts.Ask = time.Minute
		g, _ := localRegion(t, typ)
		stuck := newGate()
		if err := g.Tell(t.Context(), "a", block{stuck}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err := Ask(context.Background(), g.Ref("a"), total{})
		if took := time.Since(began); !errors.Is(err, ErrTimeout) || took < time.Minute ||
			took > time.Minute+time.Second {
			t.Errorf("%v after %v", err, took)
		}
		close(stuck.open)
	})
}

// A handler that blocks keeps its own worker only.
func TestBlockedHandlersLeaveWorkers(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		typ := cartType(&cartLog{})
		typ.Limits.Workers = 2
		g, _ := localRegion(t, typ)
		stuck := newGate()
		for i := range 50 {
			if err := g.Tell(t.Context(), fmt.Sprint("stuck-", i), block{stuck}); err != nil {
				t.Fatal(err)
			}
		}
		for range 50 {
			<-stuck.entered
		}
		if n, err := Ask(t.Context(), g.Ref("free"), total{}); err != nil || n != 0 {
			t.Errorf("%d %v", n, err)
		}
		close(stuck.open)
	})
}

func TestNoReplyIsLost(t *testing.T) {
	g, _ := localRegion(t, cartType(&cartLog{}))
	checkReplies(t, g, 400, func(int) string { return "one" })
}

// checkReplies asks from many callers at a time and wants the answer to each question.
func checkReplies(t *testing.T, g *Region[message_], each int, id func(caller int) string) {
	t.Helper()
	var wg sync.WaitGroup
	var lost atomic.Int64
	for i := range 256 {
		wg.Go(func() {
			for j := range each {
				want := fmt.Sprint(i, "/", j)
				if got, err := Ask(context.Background(), g.Ref(id(i)), echo{Text: want}); err != nil || got != want {
					lost.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if n := lost.Load(); n != 0 {
		t.Errorf("%d replies lost or mixed up", n)
	}
}

func TestSingleWriterAndOrder(t *testing.T) {
	type seq struct {
		message_  `cbor:"-"`
		sender, n int
	}
	var inside, overlap atomic.Int64
	last := map[int]int{}
	wrong := 0
	typ := cartType(&cartLog{})
	typ.New = func(*Context[message_]) Entity[message_] {
		return receiveFunc(func(_ *Context[message_], m message_) error {
			if inside.Add(1) != 1 {
				overlap.Add(1)
			}
			if s, ok := m.(seq); ok {
				if s.n != last[s.sender]+1 {
					wrong++
				}
				last[s.sender] = s.n
			}
			inside.Add(-1)
			return nil
		})
	}
	typ.Limits.MailboxMax = 100
	typ.Messages = CBOR[message_](seq{}, total{})
	g, _ := localRegion(t, typ)
	const senders, each = 8, 5000
	var wg sync.WaitGroup
	for i := range senders {
		ref := g.Ref("one")
		wg.Go(func() {
			for n := 1; n <= each; n++ {
				var err error
				if n%3 == 0 {
					err = ref.Tell(context.Background(), seq{sender: i, n: n})
				} else {
					err = g.Tell(context.Background(), "one", seq{sender: i, n: n})
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if _, err := Ask(t.Context(), g.Ref("one"), total{}); !errors.Is(err, ErrNoReply) {
		t.Fatal(err)
	}
	if overlap.Load() != 0 || wrong != 0 {
		t.Errorf("%d overlaps, %d out of order", overlap.Load(), wrong)
	}
	for i := range senders {
		if last[i] != each {
			t.Errorf("sender %d: got %d of %d", i, last[i], each)
		}
	}
}

type receiveFunc func(*Context[message_], message_) error

func (f receiveFunc) Receive(c *Context[message_], m message_) error { return f(c, m) }

func TestPassivate(t *testing.T) {
	log := &cartLog{}
	g, _ := localRegion(t, cartType(log))
	ctx := t.Context()
	tell := func(m message_) {
		t.Helper()
		if err := g.Tell(ctx, "a", m); err != nil {
			t.Fatal(err)
		}
	}
	tell(addItem{"x", 1})
	tell(leaveNow{})
	for {
		n, err := Ask(ctx, g.Ref("a"), total{})
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			break
		}
	}
	if log.made.Load() != 2 || log.stopped.Load() != 1 {
		t.Errorf("made %d, stopped %d", log.made.Load(), log.stopped.Load())
	}
}

func TestHandlersWaitForTheLease(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g, lease := localRegion(t, cartType(&cartLog{}))
		if err := g.Tell(t.Context(), "a", addItem{"x", 1}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		lease.lost.Store(true)
		g.plane.Entities.Lease.Changed(false)
		answer := make(chan int, 1)
		go func() {
			n, err := Ask(context.Background(), g.Ref("a"), total{})
			if err != nil {
				t.Error(err)
			}
			answer <- n
		}()
		synctest.Wait()
		select {
		case <-answer:
			t.Error("a handler ran without the lease")
		default:
		}
		lease.lost.Store(false)
		g.plane.Entities.Lease.Changed(true)
		if n := <-answer; n != 1 {
			t.Errorf("total %d", n)
		}
	})
}

// A lease that runs out and is renewed before the node has looked again lapses, and nothing
// is told of it.
func TestHandlersGoOnAfterALapseOfTheLeaseThatNobodyTold(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g, lease := localRegion(t, cartType(&cartLog{}))
		lease.lost.Store(true)
		if err := g.Tell(t.Context(), "a", addItem{"x", 1}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		lease.lost.Store(false)
		if n, err := Ask(within(t, time.Second), g.Ref("a"), total{}); n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	})
}

// An unregistered message is an error wherever the entity lives, or what works on one node would
// fail in a cluster.
func TestUnregisteredMessageIsAnErrorOnItsOwnNodeToo(t *testing.T) {
	g, _ := localRegion(t, cartType(&cartLog{}))
	ref := g.Ref("a")
	for _, msg := range []message_{unknown{}, &addItem{}, nil} {
		for name, tell := range map[string]func() error{
			"by id":  func() error { return g.Tell(t.Context(), "a", msg) },
			"by ref": func() error { return ref.Tell(t.Context(), msg) },
		} {
			if err := tell(); !errors.Is(err, ErrUnregisteredMessage) {
				t.Errorf("%T %s: %v", msg, name, err)
			}
		}
	}
}
