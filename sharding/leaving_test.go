package sharding

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/dataplane/routes"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// weigh is a question of some size.
type weigh struct {
	Returns[message_, int]
	Load []byte
}

func (weigh) command() {}

// scales is a type whose entities answer weigh.
func scales() EntityType[message_] {
	typ := cartType(&cartLog{})
	typ.Messages = CBOR[message_](weigh{}, total{})
	typ.New = func(*Context[message_]) Entity[message_] {
		return receiveFunc(func(c *Context[message_], m message_) error {
			if w, ok := m.(weigh); ok {
				return c.Reply(len(w.Load))
			}
			return c.Reply(0)
		})
	}
	return typ
}

// Questions that never left for a node which is killed are answered by the next home, also those
// that waited for room in the connection to it.
func TestQuestionsThatFoundNoRoomForAKilledNode(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		asker, dies, next := w.join("frontend"), w.join("backend"), w.join("backend")
		typ := scales()
		typ.Shards = 1
		g := start(asker, typ)
		start(dies, typ)
		start(next, typ)
		w.install()
		ctx := within(t, time.Hour)
		if _, err := Ask(ctx, g.Ref("a"), total{}); err != nil {
			t.Fatal(err)
		}
		if home, _ := homeOf(g, "a"); home == next.UID() {
			dies = next
		}
		w.hub.Kill(dies.member.Addr)
		synctest.Wait()
		const questions, size = 40, 100 << 10 // of which ten fill the queue
		errs := make(chan error, questions)
		for range questions {
			go func() {
				n, err := Ask(ctx, g.Ref("a"), weigh{Load: make([]byte, size)})
				if err == nil && n != size {
					err = fmt.Errorf("the answer is %d", n)
				}
				errs <- err
			}()
		}
		synctest.Wait()
		w.kill(dies)
		for range questions {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	})
}

// A region that has handed everything over is current no more, while its node stays to the end; and
// its coordinator says that it stops.
func TestWhatIsToldOfANodeThatLeaves(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var mu sync.Mutex
		var stopped []int
		var nodes []*fakeNode
		var regions []*Region[message_]
		for i := range 2 {
			typ := cartType(&cartLog{})
			typ.OnEvent = onNotes(func(e protocol.Event) {
				mu.Lock()
				defer mu.Unlock()
				if e.Kind == protocol.CoordinatorStopped {
					stopped = append(stopped, i)
				}
			})
			n := w.join("backend")
			nodes, regions = append(nodes, n), append(regions, start(n, typ))
		}
		w.install()
		ctx := within(t, time.Hour)
		for i := range 20 {
			if _, err := Ask(ctx, regions[1].Ref(fmt.Sprint("e", i)), total{}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.handsOver(nodes[0], time.Minute); err != nil {
			t.Fatal(err)
		}
		for i, g := range regions {
			at, failed := g.CurrentRegions(ctx)
			if !slices.Equal(at, []string{nodes[1].member.Addr}) || len(failed) > 0 {
				t.Errorf("asked by node %d: %v are current, %v did not answer", i, at, failed)
			}
		}
		nodes[0].gone = true
		w.install()
		if err := regions[0].Close(ctx); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(stopped, []int{0}) {
			t.Errorf("the coordinators of the nodes %v say that they have stopped, want that of node 0", stopped)
		}
	})
}

// leaver starts two nodes that may host the one shard of a type, and a proxy that asks. It returns
// first the home of the entity "a".
func (w *world) leaver(t *testing.T, typ EntityType[message_]) (home, next *fakeNode, asker *Region[message_]) {
	t.Helper()
	typ.Shards = 1
	proxy := w.join("frontend")
	nodes := []*fakeNode{w.join("backend"), w.join("backend")}
	asker = start(proxy, typ)
	for _, n := range nodes {
		start(n, typ)
	}
	w.install()
	if _, err := Ask(within(t, time.Hour), asker.Ref("a"), total{}); err != nil {
		t.Fatal(err)
	}
	if at, _ := homeOf(asker, "a"); at == nodes[1].UID() {
		slices.Reverse(nodes)
	}
	return nodes[0], nodes[1], asker
}

// ask asks beside the test.
func ask(t *testing.T, g *Region[message_], q Request[message_, int]) <-chan error {
	ended := make(chan error, 1)
	ctx := within(t, time.Hour)
	go func() {
		_, err := Ask(ctx, g.Ref("a"), q)
		ended <- err
	}()
	return ended
}

// A node that leaves waits for an answer that a handler owes, and the asker gets it.
func TestLeaverWaitsForAnswersThatAreOwed(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		owed := make(chan Responder, 1)
		typ := scales()
		typ.New = func(*Context[message_]) Entity[message_] {
			return receiveFunc(func(c *Context[message_], m message_) error {
				if _, ok := m.(weigh); !ok {
					return c.Reply(0)
				}
				l, err := c.Responder()
				owed <- l
				return err
			})
		}
		home, _, asker := w.leaver(t, typ)
		asked := ask(t, asker, weigh{})
		l := <-owed
		time.AfterFunc(2*time.Second, func() {
			if err := l.Reply(7); err != nil {
				t.Error(err)
			}
		})
		began := time.Now()
		if err := w.leaves(home, time.Minute); err != nil {
			t.Fatal(err)
		}
		if err := <-asked; err != nil {
			t.Errorf("the asker hears %v after %v", err, time.Since(began))
		}
		if d := dataplane.CountStats(asker.plane).Drops; len(d) > 0 {
			t.Errorf("the asker has dropped %v", d)
		}
	})
}

// It does not wait for an answer that is never given: the asker hears that the node is gone.
func TestLeaverDoesNotWaitForAnswersThatAreForgotten(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		typ := scales()
		typ.Timeouts.Ask = 3 * time.Second
		typ.New = func(*Context[message_]) Entity[message_] {
			return receiveFunc(func(c *Context[message_], m message_) error {
				if _, ok := m.(weigh); !ok {
					return c.Reply(0)
				}
				_, err := c.Responder()
				return err
			})
		}
		home, _, asker := w.leaver(t, typ)
		asked := ask(t, asker, weigh{}) // it has an hour
		synctest.Wait()
		began := time.Now()
		if err := w.leaves(home, time.Minute); err != nil {
			t.Fatal(err)
		}
		if err := <-asked; !errors.Is(err, ErrNodeGone) {
			t.Errorf("the asker hears %v", err)
		}
		if took := time.Since(began); took > typ.Timeouts.Ask+time.Second {
			t.Errorf("it took %v to leave", took)
		}
	})
}

// However many questions handlers have taken since, the asker of an old one is told when the node
// leaves.
func TestLeaverAnswersOldQuestions(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		typ := scales()
		typ.Timeouts.Ask = 3 * time.Second
		typ.New = func(*Context[message_]) Entity[message_] {
			return receiveFunc(func(c *Context[message_], m message_) error {
				if _, ok := m.(weigh); !ok {
					return c.Reply(0)
				}
				_, err := c.Responder()
				return err
			})
		}
		home, _, asker := w.leaver(t, typ)
		const questions = 200
		var asked []<-chan error
		for i := range questions {
			asked = append(asked, ask(t, asker, weigh{})) // it has an hour
			if i%10 == 0 {
				<-time.After(time.Second)
			}
		}
		synctest.Wait() // all have come
		if err := w.leaves(home, time.Minute); err != nil {
			t.Fatal(err)
		}
		left := time.Now()
		for i, answer := range asked {
			if err := <-answer; !errors.Is(err, ErrNodeGone) || time.Since(left) > time.Minute {
				t.Fatalf("asker %d hears %v after %v", i+1, err, time.Since(left))
			}
		}
	})
}

// A question that a leaving node has taken and passed on ends with the answer of the next home,
// whenever that comes.
func TestQuestionThatALeaverPassesOn(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		entered, stuck := make(chan struct{}, 1), make(chan struct{})
		typ := scales()
		typ.New = func(*Context[message_]) Entity[message_] {
			return receiveFunc(func(c *Context[message_], m message_) error {
				if _, ok := m.(weigh); ok {
					entered <- struct{}{}
					<-stuck
				}
				return c.Reply(0)
			})
		}
		home, _, asker := w.leaver(t, typ)
		if err := w.handsOver(home, time.Minute); err != nil {
			t.Fatal(err)
		}
		asker.plane.Routes.Slots[0].Store(&routes.Route{Remote: uint64(home.UID())}) // as if it knew no better
		asked := ask(t, asker, weigh{})
		<-entered
		home.gone = true
		w.install()
		synctest.Wait()
		select {
		case err := <-asked:
			t.Errorf("the asker hears %v before the handler has ended", err)
			close(stuck)
		default:
			close(stuck)
			if err := <-asked; err != nil {
				t.Error(err)
			}
		}
	})
}

// Answers that wait for room in the connection to their asker are sent before the node says that it
// has stopped.
func TestLeaverSendsAnswersThatWaitForRoom(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		typ := scales()
		typ.Messages = CBOR[message_](fetch{}, total{})
		typ.New = func(*Context[message_]) Entity[message_] {
			return receiveFunc(func(c *Context[message_], m message_) error {
				if _, ok := m.(fetch); ok {
					return c.Reply(make([]byte, 256<<10))
				}
				return c.Reply(0)
			})
		}
		home, _, asker := w.leaver(t, typ)
		w.hub.Delay(home.member.Addr, w.nodes[0].member.Addr, 50*time.Millisecond)
		const questions = 40
		ended := make(chan error, questions)
		ctx := within(t, time.Hour)
		for range questions {
			go func() {
				_, err := Ask(ctx, asker.Ref("a"), fetch{})
				ended <- err
			}()
		}
		synctest.Wait()
		if err := w.leaves(home, time.Minute); err != nil {
			t.Fatal(err)
		}
		for range questions {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}

// fetch is a question with a large answer.
type fetch struct{ Returns[message_, []byte] }

func (fetch) command() {}
