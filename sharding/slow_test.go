package sharding

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// hung is an entity that does not return before its gate opens.
type hung struct{ gate chan struct{} }

// Receive waits for the gate with crash, and answers all else.
func (h hung) Receive(c *Context[message_], m message_) error {
	switch m.(type) {
	case crash:
		<-h.gate
	case silent:
		return nil
	}
	return c.Reply(1)
}

// hungWorld is a node whose entities hang when they are asked to, and what it has told of slow
// handlers.
func hungWorld(w *world) (n *fakeNode, g *Region[message_], gate chan struct{}, slow func() []protocol.Event) {
	var mu sync.Mutex
	var told []protocol.Event
	gate = make(chan struct{})
	typ := cartType(&cartLog{})
	typ.Shards, typ.Timeouts.HandlerSlow, typ.HandOff.StopTimeout = 1, time.Second, 30*time.Second
	typ.New = func(*Context[message_]) Entity[message_] { return hung{gate} }
	typ.OnEvent = onNotes(func(e protocol.Event) {
		if e.Kind == protocol.HandlerSlow {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, e)
		}
	})
	n = w.join("backend")
	g = start(n, typ)
	w.install()
	return n, g, gate, func() []protocol.Event {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(told)
	}
}

// A handler that does not return is told of with its type, entity, age and stack, and again when
// its age has doubled; it is counted while it lasts.
func TestHungHandlerIsTold(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		_, g, gate, slow := hungWorld(w)
		if err := g.Tell(t.Context(), "a", crash{}); err != nil {
			t.Fatal(err)
		}
		<-time.After(4900 * time.Millisecond)
		told := slow()
		if len(told) != 3 { // after 1, 2 and 4 s
			t.Fatalf("it was told %d times: %v", len(told), told)
		}
		for i, e := range told {
			age := time.Second << i
			if e.Entity != "a" || e.Took < age || e.Took > age+age/2 || !e.Alarm() {
				t.Errorf("%v", e)
			}
			if !strings.Contains(e.Text, "sharding.hung.Receive at slow_test.go:") ||
				!strings.Contains(e.Stack, "hung.Receive") {
				t.Errorf("it does not say where: %q in\n%s", e.Text, e.Stack)
			}
		}
		if n := g.Stats().Slow; n != 1 {
			t.Errorf("%d slow handlers are counted, want 1", n)
		}
		close(gate)
		<-time.After(time.Second)
		if n := g.Stats().Slow; n != 0 || len(slow()) != 3 {
			t.Errorf("%d slow handlers are counted when it has returned", n)
		}
	})
}

// A worker that is busy for long with messages that each take a moment is no handler that hangs.
func TestBusyWorkerIsNotHung(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var told atomic.Int32
		typ := cartType(&cartLog{})
		typ.Shards, typ.Timeouts.HandlerSlow = 1, time.Second
		typ.OnEvent = onNotes(func(e protocol.Event) {
			if e.Kind == protocol.HandlerSlow {
				told.Add(1)
			}
		})
		typ.New = func(*Context[message_]) Entity[message_] {
			return receiveFunc(func(c *Context[message_], m message_) error {
				<-time.After(100 * time.Millisecond)
				if c.Asked() {
					return c.Reply(1)
				}
				return nil
			})
		}
		g := start(w.join("backend"), typ)
		w.install()
		for range 200 {
			if err := g.Tell(t.Context(), "a", addItem{}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Ask(within(t, time.Minute), g.Ref("a"), total{}); err != nil {
			t.Fatal(err)
		}
		if n := told.Load(); n != 0 {
			t.Errorf("it was told %d times", n)
		}
	})
}

// Those that wait for a handler that hangs are told which it is: an asker of its entity, here or on
// another node, and Leave.
func TestHungHandlerIsNamed(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		n, g, gate, slow := hungWorld(w)
		other := start(w.join("frontend"), func() EntityType[message_] {
			typ := cartType(&cartLog{})
			typ.Shards = 1
			return typ
		}())
		w.install()
		if err := g.Tell(t.Context(), "a", crash{}); err != nil {
			t.Fatal(err)
		}
		<-time.After(1400 * time.Millisecond)
		if n := len(slow()); n != 1 {
			t.Errorf("it was told %d times, want 1", n)
		}
		const where = "in sharding.hung.Receive at slow_test.go:"
		says := func(err error, is error, want ...string) {
			t.Helper()
			if is != nil && !errors.Is(err, is) {
				t.Errorf("%v is no %v", err, is)
			}
			for _, text := range want {
				if !strings.Contains(fmt.Sprint(err), text) {
					t.Errorf("%q does not name %q", err, text)
				}
			}
		}
		_, err := Ask(within(t, time.Second), g.Ref("a"), total{})
		says(err, ErrTimeout, `Cart "a" in shard 0 on this node: a handler of it has run for`, where)
		_, err = Ask(within(t, time.Second), other.Ref("a"), total{})
		says(err, ErrTimeout, `Cart "a" in shard 0 on `+dataplane.NameIn(n.View(), n.member.UID))
		err = w.handsOver(n, time.Second)
		says(err, nil, "shards are still here", `shard 0, entity "a": a handler of it has run for`, where)
		close(gate)
		<-time.After(time.Minute)
	})
}

// The error of a question without an answer names the type and the message.
func TestNoReplyNamesTheMessage(t *testing.T) {
	g, _ := localRegion(t, cartType(&cartLog{}))
	if _, err := Ask(t.Context(), g.Ref("a"), silent{}); !errors.Is(err, ErrNoReply) ||
		!strings.Contains(fmt.Sprint(err), `Cart "a" to sharding.silent`) {
		t.Error(err)
	}
}
