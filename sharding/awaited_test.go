package sharding

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/protocol"
)

type deafHandler struct{}

// Receive implements transport.Handler.
func (deafHandler) Receive(transport.NodeID, []byte) {}

// A coordinator that waits for a member which does not answer says so: in the error of an Ask, in
// Health, and once as an event.
func TestWhoIsWaitedForIsNamed(t *testing.T) {
	nodes := byAge(t, 3)
	typ := cartType(&cartLog{})
	nodes[2].Host().Channels.Handle(dataplane.ChannelOf(typ.Name), deafHandler{})
	var said atomic.Int64
	typ.OnEvent = onNotes(func(e protocol.Event) {
		if e.Kind == protocol.ReportAwaited && e.Peer == nodes[2].UID() && e.Count == 1 && e.Alarm() {
			said.Add(1)
		}
	})
	var regions []*Region[message_]
	for _, n := range nodes[:2] {
		regions = append(regions, begin(t, n, typ))
	}
	names := func(what string, i int, text string) {
		t.Helper()
		missing := nodes[2].Addr()
		if i == 1 {
			missing = nodes[0].Addr() // all that a younger one knows
		}
		if !strings.Contains(text, missing) {
			t.Errorf("%s of node %d: %s", what, i, text)
		}
	}
	eventually(t, "it is said", func() bool { return said.Load() > 0 })
	for i, g := range regions {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err := Ask(ctx, g.Ref("a"), total{})
		cancel()
		if !errors.Is(err, ErrTimeout) {
			t.Fatal(err)
		}
		names("the error", i, err.Error())
		names("the health", i, strings.Join(nodes[i].Health().Reasons, "; "))
	}
	begin(t, nodes[2], typ)
	for _, g := range regions {
		if _, err := Ask(within(t, 20*time.Second), g.Ref("a"), total{}); err != nil {
			t.Error(err)
		}
	}
	if n := said.Load(); n != 1 {
		t.Errorf("said %d times", n)
	}
}

// What a coordinator has refused is not told of the next one, which has not answered yet.
func TestARefusalEndsWithItsCoordinator(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		typ, wrong := cartType(&cartLog{}), cartType(&cartLog{})
		wrong.Shards = typ.Shards + 1
		oldest, next := w.join("backend"), w.join("backend")
		start(oldest, typ)
		g := start(w.join("backend"), wrong)
		next.gone = true // so that the first coordinator does not wait for it
		w.install()
		demand := func(n *fakeNode, refused bool) {
			t.Helper()
			synctest.Wait()
			why := fmt.Sprint(g.plane.Standing.Uncoordinated())
			if !strings.Contains(why, n.member.Addr) || strings.Contains(why, "has refused this node") != refused {
				t.Error(why)
			}
		}
		if _, err := Ask(within(t, time.Minute), g.Ref("a"), total{}); !errors.Is(err, ErrTimeout) {
			t.Error(err)
		}
		demand(oldest, true)
		next.gone = false
		w.kill(oldest)
		demand(next, false)
	})
}
