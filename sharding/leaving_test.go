package sharding

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// weigh is a question of some size.
type weigh struct {
	Returns[int]
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

// Questions that never left for a node which is killed are answered by the next home, also those that waited for room in the connection to it.
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
		if _, err := Ask(ctx, g, "a", total{}); err != nil {
			t.Fatal(err)
		}
		if home, _ := g.Locate("a"); home == next.UID() {
			dies = next
		}
		w.hub.Kill(dies.member.Addr)
		synctest.Wait()
		const questions, size = 40, 100 << 10 // of which ten fill the queue
		errs := make(chan error, questions)
		for range questions {
			go func() {
				n, err := Ask(ctx, g, "a", weigh{Load: make([]byte, size)})
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

// A region that has handed everything over is current no more, while its node stays to the end; and its coordinator says that it stops.
func TestWhatIsToldOfANodeThatLeaves(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var mu sync.Mutex
		var stopped []int
		var nodes []*fakeNode
		var regions []*Region[message_]
		for i := range 2 {
			typ := cartType(&cartLog{})
			typ.OnEvent = func(e protocol.Event) {
				mu.Lock()
				defer mu.Unlock()
				if e.Kind == protocol.CoordinatorStopped {
					stopped = append(stopped, i)
				}
			}
			n := w.join("backend")
			nodes, regions = append(nodes, n), append(regions, start(n, typ))
		}
		w.install()
		ctx := within(t, time.Hour)
		for i := range 20 {
			if _, err := Ask(ctx, regions[1], fmt.Sprint("e", i), total{}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.handsOver(nodes[0], time.Minute); err != nil {
			t.Fatal(err)
		}
		for i, g := range regions {
			if at, failed := g.CurrentRegions(ctx); !slices.Equal(at, []string{nodes[1].member.Addr}) || len(failed) > 0 {
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
