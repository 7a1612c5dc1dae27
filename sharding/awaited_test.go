package sharding

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/sharding/protocol"
)

type deafHandler struct{}

// Receive implements transport.Handler.
func (deafHandler) Receive(transport.NodeID, []byte) {}

// A coordinator that waits for a member which does not answer says so: in the error of an Ask, in Health, and once as an event.
func TestWhoIsWaitedForIsNamed(t *testing.T) {
	nodes := ddatatest.StartWith(t, 3, func(_ int, c *ddata.Config) { c.Roles = []string{"backend"} })
	v := nodes[0].View()
	age := func(n *ddata.Node) int { m, _ := v.Member(n.UID()); return int(m.UpNumber) }
	slices.SortFunc(nodes, func(a, b *ddata.Node) int { return age(a) - age(b) })
	typ := cartType(&cartLog{})
	nodes[2].Transport().Handle(channelOf(typ.Name), deafHandler{})
	var said atomic.Int64
	typ.OnEvent = func(e protocol.Event) {
		if e.Kind == protocol.ReportAwaited && e.Peer == nodes[2].UID() && e.Count == 1 && e.Alarm() {
			said.Add(1)
		}
	}
	var regions []*Region[message_]
	for _, n := range nodes[:2] {
		g, err := Start(n, typ)
		if err != nil {
			t.Fatal(err)
		}
		regions = append(regions, g)
	}
	names := func(what string, i int, text string) {
		t.Helper()
		missing := nodes[2].Addr()
		if i == 1 {
			missing = nodes[0].Addr() // all that a younger one knows
		}
		if !strings.Contains(text, missing) || strings.Contains(text, "has to run it too") {
			t.Errorf("%s of node %d: %s", what, i, text)
		}
	}
	for end := time.Now().Add(30 * time.Second); said.Load() == 0; <-time.After(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no event")
		}
	}
	for i, g := range regions {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err := Ask(ctx, g, "a", total{})
		cancel()
		if !errors.Is(err, ErrTimeout) {
			t.Fatal(err)
		}
		names("the error", i, err.Error())
		names("the health", i, strings.Join(nodes[i].Health().Reasons, "; "))
	}
	if _, err := Start(nodes[2], typ); err != nil {
		t.Fatal(err)
	}
	for _, g := range regions {
		if _, err := Ask(within(t, 20*time.Second), g, "a", total{}); err != nil {
			t.Error(err)
		}
	}
	if n := said.Load(); n != 1 {
		t.Errorf("said %d times", n)
	}
}
