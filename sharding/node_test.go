package sharding

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/events/eventstest"
	"github.com/coterie-go/coterie/ddata/locks"
)

func TestRealNodes(t *testing.T) {
	nodes := ddatatest.Start(t, "backend", "backend", "backend", "frontend")
	logs := make([]cartLog, len(nodes))
	regions := make([]*Region[message_], len(nodes))
	for i, n := range nodes {
		var err error
		if regions[i], err = Start(n, cartType(&logs[i])); err != nil {
			t.Fatal(err)
		}
		if again, err := Start(n, cartType(&logs[i])); again != regions[i] || err != nil {
			t.Errorf("second start: %v %v", again, err)
		}
		for _, tune := range []func(*EntityType[message_]){
			func(typ *EntityType[message_]) { typ.Shards = 17 },
			func(typ *EntityType[message_]) { typ.Leases.Shards = locks.NewMemory() },
			func(typ *EntityType[message_]) { typ.Leases.Coordinator = locks.NewMemory() },
		} {
			other := cartType(&logs[i])
			tune(&other)
			if _, err := Start(n, other); !errors.Is(err, ErrAlreadyStarted) {
				t.Errorf("other settings: %v", err)
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	sum := func(want int) {
		t.Helper()
		got := 0
		for i := range 30 {
			n, err := Ask(ctx, regions[(i+1)%3+1].Ref(fmt.Sprint("cart-", i)), total{})
			if err != nil {
				t.Fatal(err)
			}
			got += n
		}
		if got > want {
			t.Errorf("sum %d, want at most %d", got, want)
		}
	}
	for i := range 300 {
		if err := regions[i%4].Tell(ctx, fmt.Sprint("cart-", i%30), addItem{"x", 1}); err != nil {
			t.Fatal(err)
		}
	}
	sum(300)
	if err := nodes[0].Leave(within(t, 20*time.Second)); err != nil {
		t.Fatal(err)
	}
	if n := logs[0].made.Load() - logs[0].stopped.Load(); n != 0 {
		t.Errorf("%d entities of the node that left were not stopped", n)
	}
	sum(300)
	if err := regions[0].Tell(ctx, "cart-1", addItem{}); !errors.Is(err, ErrStopped) ||
		!errors.Is(err, ddata.ErrLeft) || !strings.Contains(err.Error(), `"Cart"`) {
		t.Errorf("tell on a node that left: %v", err)
	}
}

// Remembering needs durable data, or a list of durable keys that says that there is none.
func TestRememberingNeedsDurableData(t *testing.T) {
	for name, c := range map[string]struct {
		dir  string
		keys []string
		ok   bool
	}{
		"no directory":                      {},
		"switched off, without a directory": {keys: []string{}, ok: true},
		"switched off, with one":            {dir: t.TempDir(), keys: []string{}, ok: true},
		"a directory and the default":       {dir: t.TempDir(), ok: true},
	} {
		n, err := ddata.Start(t.Context(), ddata.Config{
			Name: "test", Bind: "127.0.0.1:0",
			BootstrapExpect: 1, Roles: []string{"backend"}, Preset: ddata.Local, Dir: c.dir, DurableKeys: c.keys,
			Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		typ := cartType(&cartLog{})
		typ.Remember.Entities = true
		_, err = Start(n, typ)
		if c.ok && err != nil || !c.ok &&
			(!errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "DurableKeys")) {
			t.Errorf("%s: %v", name, err)
		}
		_ = n.Close()
	}
}

// A node that has ended starts nothing, and says why.
func TestStartOnANodeThatHasEnded(t *testing.T) {
	n := ddatatest.Start(t, "backend")[0]
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if g, err := Start(n, cartType(&cartLog{})); g != nil || !errors.Is(err, ErrStopped) ||
		!errors.Is(err, ddata.ErrClosed) {
		t.Errorf("%v %v", g, err)
	}
}

// What was started on a node is found by its name, is asked by Node.Health for its coordinator, and
// tells the node's listener what it notes.
func TestStartedTypes(t *testing.T) {
	var seen sync.Map
	n, err := ddata.Start(t.Context(), ddata.Config{
		Name: "test", Bind: "127.0.0.1:0",
		BootstrapExpect: 1, Roles: []string{"backend"}, Preset: ddata.Local, Logger: slog.New(slog.DiscardHandler),
		OnEvent: eventstest.On(func(e Event) { seen.Store(e.Type+" "+e.What.Kind.String(), true) }),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if _, err := Lookup[message_](n, "Cart"); !errors.Is(err, ErrNotStarted) || len(Types(n)) > 0 {
		t.Errorf("before: %v %q", err, Types(n))
	}
	carts, err := Start(n, cartType(&cartLog{}))
	if err != nil {
		t.Fatal(err)
	}
	far := cartType(nil)
	far.Name, far.Role, far.New = "Far", "elsewhere", nil
	if _, err := StartProxy(n, far); err != nil {
		t.Fatal(err)
	}
	if g, err := Lookup[message_](n, "Cart"); g != carts || err != nil {
		t.Errorf("%v %v", g, err)
	}
	if _, err := Lookup[int](n, "Cart"); !errors.Is(err, ErrAlreadyStarted) {
		t.Errorf("other message type: %v", err)
	}
	if _, err := StartProxy(n, cartType(nil)); !errors.Is(err, ErrAlreadyStarted) ||
		!strings.Contains(err.Error(), "proxy=false}, not as") {
		t.Errorf("a proxy of what hosts: %v", err)
	}
	if got := fmt.Sprint(Types(n)); got != "[Cart Far]" {
		t.Errorf("types %s", got)
	}
	ctx := within(t, time.Minute)
	if _, err := Ask(ctx, carts.Ref("a"), total{}); err != nil {
		t.Fatal(err)
	}
	if h := n.Health(); !h.Live || h.Ready || len(h.Reasons) != 1 ||
		!strings.Contains(h.String(), `"Far" is not registered with a coordinator`) {
		t.Errorf("health: %v", h)
	}
	Health(n, "Cart")
	if h := n.Health(); !h.Ready {
		t.Errorf("health of the registered: %v", h)
	}
	Health(n, "Cart", "Other")
	if h := n.Health(); h.Ready || !strings.Contains(h.String(), `"Other" is not started`) {
		t.Errorf("health: %v", h)
	}
	if _, ok := seen.Load("Cart coordinator-started"); !ok {
		t.Error("the listener has not heard of the coordinator")
	}
	if err := carts.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(Types(n)); got != "[Far]" {
		t.Errorf("types after the end %s", got)
	}
}
