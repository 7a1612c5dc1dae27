package sharding

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/ddatatest"
)

// Nodes leave one after the other under load, the coordinator first: each question is answered, and
// nothing that was handled is reported as lost.
func TestQuestionsWhileNodesLeave(t *testing.T) {
	const askers, some = 8, 500
	nodes := ddatatest.Start(t, "frontend", "backend", "backend", "backend")
	var handled atomic.Int64
	var regions []*Region[message_]
	for _, n := range nodes {
		typ := cartType(&cartLog{})
		typ.New = func(*Context[message_]) Entity[message_] {
			return receiveFunc(func(c *Context[message_], m message_) error {
				handled.Add(1)
				if c.Asked() {
					return c.Reply(1)
				}
				return nil
			})
		}
		g, err := Start(n, typ)
		if err != nil {
			t.Fatal(err)
		}
		regions = append(regions, g)
	}
	ctx := within(t, time.Minute)
	var wg sync.WaitGroup
	var sent atomic.Int64
	stop, more := make(chan struct{}), make(chan struct{}, 1)
	for a := range askers {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				id := fmt.Sprint("e", (i*askers+a)%100)
				if _, err := Ask(ctx, regions[0].Ref(id), total{}); err != nil {
					t.Errorf("question: %v", err)
				}
				if err := regions[0].Tell(ctx, id, addItem{}); err != nil {
					t.Errorf("message: %v", err)
				}
				sent.Add(2)
				select {
				case more <- struct{}{}:
				default:
				}
			}
		})
	}
	traffic := func() {
		for goal := sent.Load() + some; sent.Load() < goal; {
			<-more
		}
	}
	for _, n := range nodes[1:3] {
		traffic()
		if err := n.Leave(within(t, 20*time.Second)); err != nil {
			t.Error(err)
		}
	}
	traffic()
	close(stop)
	wg.Wait()
	for i := range 100 { // behind what was told
		if _, err := Ask(ctx, regions[0].Ref(fmt.Sprint("e", i)), total{}); err != nil {
			t.Error(err)
		}
		sent.Add(1)
	}
	if h, s := handled.Load(), sent.Load(); h != s {
		t.Errorf("%d messages of %d were handled", h, s)
	}
	for i, g := range regions {
		if d := g.Stats().Drops; len(d) > 0 {
			t.Errorf("node %d reports %v", i, d)
		}
	}
}
