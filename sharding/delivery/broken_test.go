package delivery

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/sharding"
)

type note struct{ N int }

// clerk takes notes when it is let.
type clerk struct{ open chan struct{} }

func (k clerk) Receive(*sharding.Context[note], note) error {
	<-k.open
	return nil
}

// desk starts a region of clerks, and tells of the node's events.
func desk(t *testing.T, open chan struct{}) (*sharding.Region[note], chan events.Event) {
	t.Helper()
	told := make(chan events.Event, 1000)
	n := ddatatest.StartWith(t, 1, func(_ int, c *ddata.Config) {
		c.Roles = []string{"backend"}
		c.OnEvent = func(e events.Event) {
			switch e.(type) {
			case ProducerBroken, events.UserCodePanicked:
				told <- e
			}
		}
	})[0]
	typ, err := Consume(sharding.EntityType[note]{
		Identity: sharding.Identity{Name: "Clerk", Role: "backend", Shards: 2},
		Messages: sharding.CBOR[note](note{}),
		New:      func(*sharding.Context[note]) sharding.Entity[note] { return clerk{open} },
	}, ConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	g, err := sharding.Start(n, typ)
	if err != nil {
		t.Fatal(err)
	}
	return g, told
}

// next waits for an event.
func next(ctx context.Context, told <-chan events.Event) events.Event {
	select {
	case e := <-told:
		return e
	case <-ctx.Done():
		return nil
	}
}

// A producer whose machine panics ends, and nothing else: its callers get the reason, an event
// tells of it, and a new producer of the same ID goes on with the queue.
func TestBrokenProducer(t *testing.T) {
	open := make(chan struct{})
	g, told := desk(t, open)
	queue := NewMemoryQueue()
	p, err := NewProducer(g, Config{ID: "p", Queue: queue, BufferMax: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := p.Send(ctx, "e", note{1}); err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error, 2)
	go func() { waiting <- p.Deliver(ctx, "f", note{2}) }() // for room
	go func() { waiting <- p.Flush(ctx) }()
	for waits := uint64(0); waits == 0; _, _, waits = p.s.room.look() {
		runtime.Gosched()
	}
	p.s.shardOf = func(string) sharding.ShardID { panic("an invariant") } // read by the loop alone, after the next line
	p.s.shardMoved(0)
	for range 2 {
		if err := <-waiting; !errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), "an invariant") {
			t.Errorf("one that waited got %v", err)
		}
	}
	if err := p.Send(ctx, "e", note{3}); !errors.Is(err, ErrBroken) {
		t.Errorf("one that came late got %v", err)
	}
	e, ok := next(ctx, told).(ProducerBroken)
	if !ok || e.Producer != "p" || e.Type != "Clerk" || !strings.Contains(e.Stack, "broken_test.go") || e.State == "" {
		t.Errorf("told %v", e)
	}
	p.Close()
	close(open)
	again, err := NewProducer(g, Config{ID: "p", Queue: queue})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := again.Flush(ctx); err != nil || queue.Len() > 1 { // what is confirmed is removed with the next batch
		t.Errorf("the next producer: %v; %d rows are left", err, queue.Len())
	}
}

// rashQueue panics at some commits, before or after it has answered.
type rashQueue struct {
	*MemoryQueue
	before, after int
}

func (q *rashQueue) Commit(b Batch, done func(error)) {
	if q.before > 0 {
		q.before--
		panic("before")
	}
	q.MemoryQueue.Commit(b, done)
	if q.after > 0 {
		q.after--
		panic("after")
	}
}

// A queue that panics has failed to store, unless it had answered; the producer goes on.
func TestQueueThatPanics(t *testing.T) {
	open := make(chan struct{})
	close(open)
	g, told := desk(t, open)
	queue := &rashQueue{MemoryQueue: NewMemoryQueue(), before: 1, after: 1}
	p, err := NewProducer(g, Config{ID: "p", Queue: queue})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := p.Deliver(ctx, "e", note{1}); !errors.Is(err, ErrQueue) ||
		!strings.Contains(err.Error(), "panicked: before") {
		t.Errorf("a panic before the answer: %v", err)
	}
	if err := p.Deliver(ctx, "e", note{2}); err != nil {
		t.Errorf("a panic after the answer: %v", err)
	}
	if err := p.Deliver(ctx, "e", note{3}); err != nil {
		t.Errorf("no panic: %v", err)
	}
	for i := range 2 {
		e, ok := next(ctx, told).(events.UserCodePanicked)
		if !ok || e.SoFar != uint64(i+1) || !strings.Contains(e.In, `producer "p"`) ||
			!strings.Contains(e.Stack, "broken_test.go") {
			t.Errorf("told %v", e)
		}
	}
}
