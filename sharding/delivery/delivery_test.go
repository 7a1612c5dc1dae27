package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/delivery"
)

// Shards move, a node is killed: everything arrives, in order within each incarnation.
func TestDeliveredWhileShardsMove(t *testing.T) {
	ns := ddatatest.Start(t, "backend", "backend", "backend", "frontend")
	l := newHistory()
	var gs []*sharding.Region[message]
	for _, n := range ns {
		gs = append(gs, region(t, n, l.entityType(t)))
	}
	ctx := within(t, 2*time.Minute)
	const entities = 20
	ids := map[string]*sharding.Region[message]{"front": gs[3], "back": gs[2]}
	var wg sync.WaitGroup
	var stop atomic.Bool
	rounds := make([]int, len(ids))
	var keys [][]string
	began := make(chan struct{}, len(ids))
	for id, g := range ids {
		p := producer(t, g, delivery.Config{ID: id})
		i := len(keys)
		keys = append(keys, nil)
		for e := range entities {
			keys[i] = append(keys[i], fmt.Sprintf("%s/e%d", id, e))
		}
		wg.Go(func() {
			for !stop.Load() {
				rounds[i]++
				for e := range entities {
					if err := p.Send(ctx, fmt.Sprint("e", e), step{id, rounds[i]}); err != nil {
						t.Error(err)
						return
					}
				}
				if rounds[i] == 5 {
					began <- struct{}{}
				}
				if rounds[i]%3 > 0 {
					continue
				}
				if err := p.Flush(ctx); err != nil {
					t.Error(err)
					return
				}
			}
			if err := p.Flush(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	for range ids {
		<-began
	}
	if err := ns[0].Leave(within(t, time.Minute)); err != nil {
		t.Error(err)
	}
	_ = ns[1].Close() // a crash, to the others
	if err := ns[2].Down(ns[1].UID()); err != nil {
		t.Error(err)
	}
	after := producer(t, gs[2], delivery.Config{ID: "after"})
	for e := range entities { // each has a home again
		if err := after.Deliver(ctx, fmt.Sprint("e", e), step{"after", 1}); err != nil {
			t.Error(err)
		}
	}
	stop.Store(true)
	wg.Wait()
	for i := range keys {
		again, missing := l.check(rounds[i], keys[i]...)
		if missing > 0 {
			t.Errorf("%d messages never arrived", missing)
		}
		t.Logf("%d messages, %d of them handled by more than one incarnation", rounds[i]*entities, again)
	}
	for _, w := range l.wrong {
		t.Error(w)
	}
}

func single(t testing.TB, l *history) *sharding.Region[message] {
	return region(t, ddatatest.Start(t, "backend")[0], l.entityType(t))
}

func TestDeliverWaitsForTheHandler(t *testing.T) {
	l := newHistory()
	g := single(t, l)
	p := producer(t, g, delivery.Config{ID: "p"})
	ctx := within(t, 10*time.Second)
	for i := 1; i <= 100; i++ {
		if err := p.Deliver(ctx, "e", step{"p", i}); err != nil {
			t.Fatal(err)
		}
		if n, err := sharding.Ask(ctx, g.Ref("e"), count{}); n != i || err != nil {
			t.Fatalf("%d: %d, %v", i, n, err)
		}
	}
	if st := p.Stats(); st.Resent > 0 || st.Sent != 100 {
		t.Errorf("%+v", st)
	}
}

// A handler that fails, and so loses its incarnation, gets its message again, and nothing overtakes
// it.
func TestFailedIsDeliveredAgain(t *testing.T) {
	l := newHistory()
	l.fail[5], l.fail[9] = 1, 3
	p := producer(t, single(t, l), delivery.Config{ID: "p"})
	ctx := within(t, 10*time.Second)
	for i := 1; i <= 20; i++ {
		if err := p.Send(ctx, "e", step{"p", i}); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if _, missing := l.check(20, "p/e"); missing > 0 || len(l.wrong) > 0 {
		t.Errorf("%d missing, %v", missing, l.wrong)
	}
}

// awaiting is an entity whose messages wait for results that a test gives.
type awaiting struct {
	*walker
	waits chan step
	rests chan func() error
}

func (w *awaiting) Receive(c *sharding.Context[message], m message) error {
	a, err := c.Await()
	if err != nil {
		return err
	}
	w.waits <- m.(step)
	rest := <-w.rests
	a.Continue(func(c *sharding.Context[message]) error {
		again, err := c.Await() // the first result is not enough
		if err != nil {
			return err
		}
		again.Continue(func(*sharding.Context[message]) error {
			if err := rest(); err != nil {
				return err
			}
			return w.step(c.ID(), m.(step))
		})
		return nil
	})
	return nil
}

// A message whose handler waits for a result (Context.Await) is confirmed when the rest has run, and
// is delivered again if the rest fails, whatever becomes of the incarnation. Nothing else is delivered
// meanwhile.
func TestAwaitIsConfirmedByTheRest(t *testing.T) {
	for _, directive := range []sharding.Directive{sharding.Resume, sharding.Restart, sharding.Stop} {
		t.Run(fmt.Sprint(directive), func(t *testing.T) {
			l := newHistory()
			waits, rests := make(chan step, 1), make(chan func() error, 1)
			typ := l.plainType()
			typ.Supervision = sharding.Supervision{Decide: sharding.Always(directive), Backoff: time.Millisecond}
			typ.New = func(*sharding.Context[message]) sharding.Entity[message] {
				return &awaiting{&walker{l: l, last: map[string]int{}}, waits, rests}
			}
			p := producer(t, region(t, ddatatest.Start(t, "backend")[0], consuming(t, typ)), delivery.Config{ID: "p"})
			ctx := within(t, 20*time.Second)
			for i := 1; i <= 3; i++ {
				if err := p.Send(ctx, "e", step{"p", i}); err != nil {
					t.Fatal(err)
				}
			}
			rest := func(want int, fn func() error) {
				t.Helper()
				select {
				case m := <-waits:
					if m.N != want {
						t.Errorf("%d is handled, want %d", m.N, want)
					}
				case <-ctx.Done():
					t.Fatalf("%d is not delivered", want)
				}
				rests <- fn
			}
			fine := func() error { return nil }
			rest(1, fine)
			rest(2, func() error { return errors.New("unwritten") })
			rest(2, func() error { panic("unwritten") })
			rest(2, func() error { runtime.Goexit(); return nil })
			rest(2, fine)
			rest(3, fine)
			if err := p.Flush(ctx); err != nil {
				t.Fatal(err)
			}
			if again, missing := l.check(3, "p/e"); again+missing > 0 || len(l.wrong) > 0 {
				t.Errorf("%d again, %d missing, %v", again, missing, l.wrong)
			}
		})
	}
}

func TestLater(t *testing.T) {
	l := newHistory()
	l.hold = make(chan *delivery.Confirmation)
	p := producer(t, single(t, l), delivery.Config{ID: "p"})
	ctx := within(t, 10*time.Second)
	for i := 1; i <= 3; i++ {
		if err := p.Send(ctx, "e", step{"p", i}); err != nil {
			t.Fatal(err)
		}
	}
	first := <-l.hold
	select {
	case <-l.hold:
		t.Error("the second came before the first was confirmed")
	case <-time.After(50 * time.Millisecond):
	}
	if err := first.Reject(); err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= 3; i++ { // the first one again, then the others
		c := <-l.hold
		if err := c.Confirm(); err != nil {
			t.Fatal(err)
		}
		if err := c.Reject(); !errors.Is(err, delivery.ErrConfirmed) {
			t.Errorf("twice: %v", err)
		}
	}
	if err := p.Flush(ctx); err != nil {
		t.Error(err)
	}
	if n := l.seen["p/e"][1]; n != 2 {
		t.Errorf("the one that was rejected came %d times", n)
	}
}

// Callers wait for room until their context ends.
func TestBackPressure(t *testing.T) {
	l := newHistory()
	l.hold = make(chan *delivery.Confirmation, 10)
	p := producer(t, single(t, l), delivery.Config{ID: "p", BufferMax: 4})
	ctx := within(t, 10*time.Second)
	for i := 1; i <= 4; i++ {
		if err := p.Send(ctx, fmt.Sprint("e", i), step{"p", i}); err != nil {
			t.Fatal(err)
		}
	}
	short, cancel := context.WithTimeout(ctx, 30*time.Millisecond)
	defer cancel()
	if err := p.Send(short, "e5", step{"p", 5}); !errors.Is(err, delivery.ErrBufferFull) ||
		!errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no room: %v", err)
	}
	if err := p.Flush(short); !errors.Is(err, delivery.ErrUnconfirmed) {
		t.Errorf("flush: %v", err)
	}
	sent := make(chan error)
	go func() { sent <- p.Send(ctx, "e5", step{"p", 5}) }()
	if err := (<-l.hold).Confirm(); err != nil {
		t.Fatal(err)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	unconfirmed, cancel := context.WithTimeout(ctx, 30*time.Millisecond)
	defer cancel()
	if err := (<-l.hold).Confirm(); err != nil {
		t.Fatal(err)
	}
	if err := p.Deliver(unconfirmed, "e6", step{"p", 6}); !errors.Is(err, delivery.ErrUnconfirmed) {
		t.Errorf("no consumer confirms: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	l := newHistory()
	n := ddatatest.Start(t, "backend")[0]
	g := region(t, n, l.entityType(t))
	ctx := within(t, 10*time.Second)
	p := producer(t, g, delivery.Config{ID: "p", MessageMax: 100})
	for want, err := range map[error]error{
		sharding.ErrInvalidID:           p.Send(ctx, "", step{"p", 1}),
		sharding.ErrUnregisteredMessage: p.Send(ctx, "e", alien{}),
		sharding.ErrMessageTooLarge:     p.Deliver(ctx, "e", big{make([]byte, 200)}),
	} {
		if !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	if _, err := delivery.NewProducer(g, delivery.Config{ID: "p"}); !errors.Is(err, sharding.ErrBox) {
		t.Errorf("an ID that is in use: %v", err)
	}
	if _, err := delivery.NewProducer(g,
		delivery.Config{BufferBytes: -1, MessageMax: -1}); !errors.Is(err, delivery.ErrConfig) {
		t.Errorf("faults: %v", err)
	}
	if _, err := delivery.Consume(l.entityType(t),
		delivery.ConsumerConfig{Window: -1}); !errors.Is(err, delivery.ErrConfig) {
		t.Errorf("faults: %v", err)
	}
	p.Close()
	if err := p.Send(ctx, "e", step{"p", 1}); !errors.Is(err, delivery.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	q := producer(t, g, delivery.Config{ID: "p"})
	if err := n.Leave(within(t, 10*time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := q.Deliver(ctx, "e", step{"p", 1}); !errors.Is(err, delivery.ErrClosed) {
		t.Errorf("the region has stopped: %v", err)
	}
}

// Of two producers with one ID the later is followed, and the earlier is told.
func TestSuperseded(t *testing.T) {
	ns := ddatatest.Start(t, "backend", "backend")
	l := newHistory()
	ctx := within(t, 10*time.Second)
	p := producer(t, region(t, ns[0], l.entityType(t)), delivery.Config{ID: "p"})
	q := producer(t, region(t, ns[1], l.entityType(t)), delivery.Config{ID: "p"})
	if err := q.Deliver(ctx, "e", step{"q", 1}); err != nil {
		t.Fatal(err)
	}
	if err := p.Deliver(ctx, "e", step{"p", 1}); !errors.Is(err, delivery.ErrSuperseded) {
		t.Errorf("%v", err)
	}
	if err := q.Deliver(ctx, "e", step{"q", 2}); err != nil {
		t.Error(err)
	}
}

// A producer that is made again with its queue sends what was not confirmed, and the incarnation
// that lived on handles nothing twice.
func TestQueues(t *testing.T) {
	env := durable.NewMemory().AutoFlush(true)
	table, err := env.Table("producer")
	if err != nil {
		t.Fatal(err)
	}
	for name, q := range map[string]delivery.Queue{
		"memory": delivery.NewMemoryQueue(), "table": delivery.NewTableQueue(table),
	} {
		t.Run(name, func(t *testing.T) {
			l := newHistory()
			l.hold = make(chan *delivery.Confirmation, 100)
			g := single(t, l)
			ctx := within(t, 10*time.Second)
			p := producer(t, g, delivery.Config{ID: "p", Queue: q})
			for i := 1; i <= 10; i++ {
				if err := p.Send(ctx, "e", step{"p", i}); err != nil {
					t.Fatal(err)
				}
			}
			if err := (<-l.hold).Confirm(); err != nil {
				t.Fatal(err)
			}
			held := <-l.hold // the second was handled, and is not confirmed
			p.Close()
			p = producer(t, g, delivery.Config{ID: "p", Queue: q})
			if err := held.Confirm(); err != nil {
				t.Fatal(err)
			}
			go func() {
				for c := range l.hold {
					_ = c.Confirm()
				}
			}()
			if err := p.Flush(ctx); err != nil {
				t.Fatal(err)
			}
			if err := p.Deliver(ctx, "e", step{"p", 11}); err != nil { // its batch removes what was confirmed
				t.Fatal(err)
			}
			close(l.hold)
			if again, missing := l.check(11, "p/e"); again+missing+len(l.wrong) > 0 {
				t.Errorf("%d twice, %d missing, %v", again, missing, l.wrong)
			}
			if n := stored(t, q); n != 1 {
				t.Errorf("%d rows are left", n)
			}
		})
	}
}

func stored(t *testing.T, q delivery.Queue) int {
	_, rows, err := q.Load()
	if err != nil {
		t.Fatal(err)
	}
	return len(rows)
}

// What cannot be stored is not sent, and its caller hears of it.
func TestQueueFails(t *testing.T) {
	l := newHistory()
	q := delivery.NewMemoryQueue()
	p := producer(t, single(t, l), delivery.Config{ID: "p", Queue: q})
	ctx := within(t, 10*time.Second)
	q.FailNext(1)
	if err := p.Send(ctx, "e", step{"p", 1}); !errors.Is(err, delivery.ErrQueue) {
		t.Errorf("%v", err)
	}
	if err := p.Deliver(ctx, "e", step{"p", 2}); err != nil {
		t.Error(err)
	}
	if l.seen["p/e"][1] != 0 {
		t.Error("the one that was not stored was delivered")
	}
	if g, _, _ := q.Load(); g == 0 {
		t.Error("the generation is not stored")
	}
}
