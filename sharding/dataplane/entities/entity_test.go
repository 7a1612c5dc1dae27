package entities

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/failure"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Idle entities are many.
func TestEntityIsSmall(t *testing.T) {
	var e Entity
	if size := unsafe.Sizeof(e); size > 128 { // the size class, which has its objects at the begin of cache lines
		t.Errorf("an entity has %d bytes", size)
	}
	if at := unsafe.Offsetof(e.body); at != 64 {
		t.Errorf("what the worker needs for a message begins %d bytes behind the begin", at)
	}
}

// heard is what the control plane hears, in order.
type heard struct {
	Control
	words []string
}

func (h *heard) Wake(_ *Shard, id string)          { h.words = append(h.words, "wake "+id) }
func (h *heard) EntityStopped(_ *Shard, id string) { h.words = append(h.words, "stopped "+id) }

// The machine hears that an incarnation is over before it hears that messages wait for the next one:
// the other way round it would stop the entity that it has just woken.
func TestTheEndIsHeardBeforeTheNextStart(t *testing.T) {
	var turn mailbox.Turn
	h := &heard{}
	r := &Runtime{control: h}
	s := NewShard(r, 1, protocol.Token{})
	e := s.AddLocked("a")
	e.Begin()
	if ok, _ := e.Refill(&turn, 9); !ok {
		t.Fatal("it does not start")
	}
	if v, _ := e.Push(mailbox.Envelope{Msg: "late"}, 0, 9); v != mailbox.Accepted {
		t.Fatal(v)
	}
	e.end(r)
	if want := []string{"stopped a", "wake a"}; !slices.Equal(h.words, want) || s.Find("a") != e {
		t.Errorf("heard %q, want %q", h.words, want)
	}
	h.words = nil
	e.Begin()
	e.Refill(&turn, 9)
	for turn.Taken() > 0 {
		turn.Next()
	}
	e.end(r)
	if !slices.Equal(h.words, []string{"stopped a"}) || s.Find("a") != nil {
		t.Errorf("heard %q of an entity without messages", h.words)
	}
}

// always is a lease that a node never loses.
type always struct{ host.Lease }

func (always) Holds() bool { return true }

// weighed returns an entity of a runtime whose mailboxes take two messages of 100 bytes.
func weighed(regionMax int64) (e *Entity, h *heard) {
	h = &heard{}
	r := New(Settings{
		Scheduler: scheduler.Goroutines{}, Log: slog.New(slog.DiscardHandler), Lease: always{},
		MailboxMax: 2, MailboxBytes: 1000, Held: mailbox.NewHeldBytes(regionMax, nil),
	}, func() []*Shard { return nil })
	r.SteeredBy(h)
	return NewShard(r, 1, protocol.Token{}).AddLocked("a"), h
}

// A message that finds no room gives back what it took of it, whichever bound refused it.
func TestRefusedMessagesTakeNoRoom(t *testing.T) {
	for _, c := range []struct {
		what      string
		regionMax int64
		want      mailbox.Verdict
		taken     int
	}{{"the mailbox is full", 1000, mailbox.Full, 2}, {"the region is full", 150, mailbox.HeavyRegion, 1}} {
		e, _ := weighed(c.regionMax)
		for i := range 9 {
			want := mailbox.Accepted
			if i >= c.taken {
				want = c.want
			}
			if v := e.Accept(mailbox.Envelope{Msg: i}, 100); v != want {
				t.Fatalf("%s: message %d: %v, want %v", c.what, i, v, want)
			}
		}
		if want := 100 * c.taken; e.Bytes() != want || e.Shard.runtime.Held.Used() != int64(want) {
			t.Errorf("%s: %d bytes in the mailbox, %d in the region, want %d", c.what, e.Bytes(),
				e.Shard.runtime.Held.Used(), want)
		}
	}
}

// What waits for an entity whose shard was shut while a worker had it goes on when the turn ends.
func TestATurnThatEndsAfterItsShard(t *testing.T) {
	var turn mailbox.Turn
	e, _ := weighed(1000)
	e.Accept(mailbox.Envelope{Msg: "handled"}, 10)
	e.Begin()
	e.Refill(&turn, 9)
	e.Accept(mailbox.Envelope{Msg: "waits"}, 20)
	var out []any
	e.Shard.Shut(func(_ *Entity, env mailbox.Envelope, _ uint32) { out = append(out, env.Msg) })
	if len(out) != 0 || e.State().IsClosed() {
		t.Fatalf("%v left while a worker has the mailbox", out)
	}
	_, size, _ := turn.Next()
	e.released(size)
	if e.Pause(mailbox.ForLease); !slices.Equal(out, []any{"waits"}) || !e.State().IsClosed() {
		t.Errorf("%v left, closed: %v", out, e.State().IsClosed())
	}
	if e.Bytes() != 0 || e.Shard.runtime.Held.Used() != 0 {
		t.Errorf("%d bytes in the mailbox, %d in the region", e.Bytes(), e.Shard.runtime.Held.Used())
	}
}

// With an incarnation that was stopped, what its handlers wait for ends, and the count of its
// failures.
func TestNothingOutlivesAnIncarnation(t *testing.T) {
	var turn mailbox.Turn
	e, _ := weighed(1000)
	h := &Handler{Entity: e}
	if err := h.Err(); err != nil {
		t.Fatal(err)
	}
	x, s := e.Extra.Load(), &Supervision{Restarts: 1, Within: time.Hour}
	if _, ok := x.restarts.next(0, s); !ok {
		t.Fatal("it is never started again")
	}
	if _, ok := x.restarts.next(0, s); ok {
		t.Fatal("it is started again more often than it may be")
	}
	e.finish()
	if err := context.Cause(h); !errors.Is(err, failure.ErrStopped) {
		t.Errorf("the context of its handlers: %v", err)
	}
	e.Begin()
	e.Refill(&turn, 9)
	turn.Next()
	e.end(e.Shard.runtime)
	if _, ok := x.restarts.next(0, s); !ok {
		t.Error("the next incarnation has the failures of the one before")
	}
}
