package ddata_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/events/eventstest"
)

// One node says that the cluster will shut down, and every view says so from then on. A node that
// wants to join is told, and waits.
func TestPrepareForShutdown(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		nodes := mem.start(3, nil)
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		for range 2 {
			if err := nodes[1].PrepareForShutdown(ctx); err != nil {
				t.Fatal(err)
			}
		}
		for _, n := range nodes {
			if !n.View().Closing {
				t.Errorf("member %v does not know", n.UID())
			}
		}
		waits := make(chan string, 16)
		late := mem.config(mem.addrs(1)[0], []string{nodes[0].Addr()}, 0)
		late.OnEvent = eventstest.On(func(e events.Waiting) {
			select {
			case waits <- e.Reason:
			default:
			}
		})
		joining, give := context.WithCancel(ctx)
		joined := make(chan error, 1)
		go func() {
			n, err := ddata.Start(joining, late)
			if err == nil {
				_ = n.Close()
			}
			joined <- err
		}()
		for told := false; !told; {
			select {
			case reason := <-waits:
				told = strings.Contains(reason, "is being shut down")
			case err := <-joined:
				t.Fatal("a node joined, or gave up:", err)
			case <-ctx.Done():
				t.Fatal("the joiner is not told why it waits")
			}
		}
		give()
		if err := <-joined; err == nil {
			t.Error("a node joined a cluster that is being shut down")
		}
		if n := len(nodes[0].View().Members); n != 3 || !nodes[0].View().Closing {
			t.Errorf("%v", nodes[0].View())
		}
		for _, n := range nodes {
			_ = n.Close()
		}
		if err := nodes[0].PrepareForShutdown(ctx); !errors.Is(err, ddata.ErrClosed) {
			t.Errorf("on a node that has ended: %v", err)
		}
	})
}

// What a minority asks for is not decided: the call says so in time, and names what it waits for.
func TestPrepareForShutdownInAMinority(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		nodes := mem.start(3, nil)
		for _, n := range nodes[1:] {
			_ = n.Close()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if err := nodes[0].PrepareForShutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}
