package sharding

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/console"
	"github.com/coterie-go/coterie/ddata/console/api"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/figures"
	"github.com/coterie-go/coterie/sharding/passivation"
)

// consoles are those of nodes on which an entity type runs, and what a test asks them.
type consoles struct {
	t       *testing.T
	nodes   []*ddata.Node
	regions []*Region[message_]
	hs      []http.Handler
}

// startConsoles starts nodes with a type that edit may change. The last node is a proxy.
func startConsoles(t *testing.T, n int, edit func(*EntityType[message_])) *consoles {
	t.Helper()
	x := &consoles{t: t}
	x.nodes = ddatatest.StartWith(t, n+1, func(i int, c *ddata.Config) {
		c.Roles = []string{"backend"}
		if i == n {
			c.Roles = []string{"frontend"}
		}
	})
	for _, node := range x.nodes {
		typ := cartType(&cartLog{})
		if edit != nil {
			edit(&typ)
		}
		g, err := Start(node, typ)
		if err != nil {
			t.Fatal(err)
		}
		x.regions = append(x.regions, g)
		x.hs = append(x.hs, console.Handler(node, console.Config{
			Authorize: func(*http.Request) (console.Caller, error) {
				return console.Caller{Access: console.Operate}, nil
			},
			Others: console.Operate, NodeTimeout: 10 * time.Second,
		}))
	}
	return x
}

// touch has entities handle a question each.
func (x *consoles) touch(n int) {
	x.t.Helper()
	ctx := within(x.t, time.Minute)
	for i := range n {
		if _, err := Ask(ctx, x.regions[len(x.regions)-1].Ref(fmt.Sprint("e", i)), total{}); err != nil {
			x.t.Fatal(err)
		}
	}
}

func (x *consoles) request(i int, r *http.Request, into any) (status int) {
	x.t.Helper()
	r.Header.Set(api.Header, "test")
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	x.hs[i].ServeHTTP(w, r)
	if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
		x.t.Fatalf("%v: %s", err, w.Body)
	}
	return w.Code
}

func get[T any](x *consoles, i int, path string) (v T) {
	x.t.Helper()
	if status := x.request(i, httptest.NewRequest("GET", "/api/v1/"+path, nil), &v); status != 200 {
		x.t.Fatalf("%s: %d", path, status)
	}
	return v
}

// act returns the text of what became of an action.
func (x *consoles) act(i, status int, a api.Action) string {
	x.t.Helper()
	b, err := json.Marshal(a)
	if err != nil {
		x.t.Fatal(err)
	}
	var v struct{ Text string }
	if got := x.request(i, httptest.NewRequest("POST", "/api/v1/actions", strings.NewReader(string(b))),
		&v); got != status {
		x.t.Fatalf("%+v: %d %s, want %d", a, got, v.Text, status)
	}
	return v.Text
}

// until asks for the cluster again and again until it is as wanted.
func (x *consoles) until(what string, ok func(api.Cluster) bool) {
	x.t.Helper()
	ctx := within(x.t, time.Minute)
	for {
		c := get[api.Cluster](x, 0, "cluster")
		if ok(c) {
			return
		}
		select {
		case <-ctx.Done():
			x.t.Fatalf("%s: %+v", what, c)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// hosted is how many shards each node hosts, by address.
func hosted(c api.Cluster) map[string]int {
	all := map[string]int{}
	for _, n := range c.Nodes {
		for _, t := range n.Types {
			all[n.Addr] += t.Hosted
		}
	}
	return all
}

// What runs on the nodes is shown: types, shards, entities, why they were passivated.
func TestConsoleShowsTypes(t *testing.T) {
	x := startConsoles(t, 2, nil)
	x.touch(40)
	x.until("all shards have a home", func(c api.Cluster) bool {
		all := hosted(c)
		return all[x.nodes[0].Addr()]+all[x.nodes[1].Addr()] == 16 && all[x.nodes[2].Addr()] == 0
	})
	c := get[api.Cluster](x, 2, "cluster")
	active := 0
	for _, n := range c.Nodes {
		y := n.Types[0]
		active += y.Active
		if y.Name != "Cart" || y.Role != "backend" || y.Shards != 16 || y.Proxy != (n.Addr == x.nodes[2].Addr()) ||
			!y.Registered ||
			y.Movable || y.Coordinator == "" || y.Coordinating != (y.Coordinator == n.UID) || len(y.Alarms) > 0 {
			t.Errorf("%+v", y)
		}
	}
	if active != 40 {
		t.Errorf("%d active entities", active)
	}
	page := get[api.Shards](x, 2, "shards?type=Cart&from=4&limit=8")
	if page.Total != 16 || len(page.Shards) != 8 || page.Shards[0].Shard != 4 || page.Shards[0].Node == "" ||
		len(page.Unanswered) > 0 {
		t.Errorf("%+v", page)
	}
	id := "e7"
	loc, err := x.regions[2].Where(within(t, time.Minute), id)
	if err != nil {
		t.Fatal(err)
	}
	e := get[api.Entity](x, 2, "entity?type=Cart&id="+id)
	if !e.Active || e.Addr != loc.Addr || e.Shard != int(loc.Shard) || !strings.Contains(e.Why, "is active") ||
		e.IdleTimeout == 0 {
		t.Errorf("%+v, it is %v", e, loc)
	}
	x.act(2, 200, api.Action{Do: api.DoPassivate, Type: "Cart", Entity: id})
	x.until("it is passivated", func(api.Cluster) bool {
		e = get[api.Entity](x, 1, "entity?type=Cart&id="+id)
		return !e.Active && len(e.Passivated) == 1 && e.Passivated[0].Cause == "request" && strings.Contains(e.Why,
			"asked for")
	})
	var bad api.Error
	if status := x.request(0, httptest.NewRequest("GET", "/api/v1/entity?type=Card&id=e", nil), &bad); status != 404 ||
		!strings.Contains(bad.Text, "Cart") {
		t.Errorf("%d %+v", status, bad)
	}
}

// A node drains: others have its shards then, and it still routes. The last one that could host does
// not.
func TestConsoleDrains(t *testing.T) {
	x := startConsoles(t, 2, nil)
	x.touch(40)
	first := x.nodes[0].Addr()
	if text := x.act(2, 200, api.Action{Do: api.DoDrain, Node: first, Type: "Cart"}); !strings.Contains(text,
		"hands") {
		t.Errorf("%s", text)
	}
	x.until("it has handed all over", func(c api.Cluster) bool {
		all, d := hosted(c), drainOf(c, first)
		return all[first] == 0 && all[x.nodes[1].Addr()] == 16 && d != nil && d.Done && d.Why == "" && !d.Since.IsZero()
	})
	c := get[api.Cluster](x, 0, "cluster")
	if d := drainOf(c, x.nodes[1].Addr()); d != nil {
		t.Errorf("the other node drains too: %+v", d)
	}
	ev := get[api.Events](x, 0, "events?limit=100")
	if !slices.ContainsFunc(ev.Events, func(e api.Event) bool { return e.Kind == "Drained" }) {
		t.Errorf("that it is drained is no event: %+v", ev.Events)
	}
	ctx := within(t, time.Minute)
	for i := range 40 {
		if _, err := Ask(ctx, x.regions[0].Ref(fmt.Sprint("e", i)), total{}); err != nil {
			t.Fatalf("the drained node does not route: %v", err)
		}
	}
	if text := x.act(2, 400, api.Action{Do: api.DoDrain, Node: x.nodes[1].Addr()}); !strings.Contains(text,
		"no other node") {
		t.Errorf("%s", text)
	}
	if !x.nodes[0].Health().Ready {
		t.Errorf("the drained node: %v", x.nodes[0].Health())
	}
	if err := x.nodes[0].Leave(ctx); err != nil {
		t.Errorf("the drained node leaves: %v", err)
	}
}

func uid(n *ddata.Node) string { return figures.UID(n.UID()) }

// drainOf is how far a node's hand-over of its only type is.
func drainOf(c api.Cluster, addr string) *api.Drain {
	for _, n := range c.Nodes {
		if n.Addr == addr {
			return n.Types[0].Drain
		}
	}
	return nil
}

// A drain that a handler holds up has begun all the same: the operator sees what it waits for, and when it is done.
func TestConsoleDrainWaits(t *testing.T) {
	x := startConsoles(t, 2, nil)
	x.touch(40)
	first, g := x.nodes[0].Addr(), newGate()
	end := sync.OnceFunc(func() { close(g.open) })
	defer end()
	ctx := within(t, time.Minute)
	for i := 0; ; i++ {
		ref := x.regions[0].Ref(fmt.Sprint("e", i))
		loc, err := x.regions[0].Where(ctx, ref.ID())
		if err != nil {
			t.Fatal(err)
		}
		if loc.Addr == first {
			if err := ref.Tell(ctx, block{g}); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	<-g.entered
	for range 2 { // to want it again is no mistake
		x.act(1, 200, api.Action{Do: api.DoDrain, Node: first})
	}
	if text := x.act(2, 400, api.Action{Do: api.DoDrain, Node: x.nodes[1].Addr()}); !strings.Contains(text,
		"no other node") {
		t.Errorf("both nodes drain: %s", text)
	}
	x.until("one shard is left, and it is said why", func(c api.Cluster) bool {
		d := drainOf(c, first)
		return hosted(c)[first] == 1 && d != nil && !d.Done && strings.Contains(d.Why, "handler")
	})
	x.until("one move is under way", func(c api.Cluster) bool { // the others are written down by and by
		moving, under := 0, 0
		for _, s := range get[api.Shards](x, 2, "shards?type=Cart").Shards {
			if m := s.Moving; m != nil && m.From == uid(x.nodes[0]) && m.To == "" && m.Phase == "stopping" &&
				m.Since != nil && s.Node == m.From {
				moving++
			}
		}
		for _, n := range c.Nodes {
			under += n.Types[0].Moves.UnderWay
		}
		return moving == 1 && under == 1
	})
	end()
	x.until("it has handed all over", func(c api.Cluster) bool { return drainOf(c, first).Done })
}

// Limits, stops, moves and a look at the balance: each as its type allows.
func TestConsoleActs(t *testing.T) {
	x := startConsoles(t, 2, func(typ *EntityType[message_]) {
		typ.Allocation.Strategy = allocation.External{}
		typ.Rebalance.Interval = time.Hour // what moves was asked for
		typ.Rebalance.Delay = time.Nanosecond
		typ.Passivation.Strategy = passivation.Strategy{ActiveEntityLimit: 1000}
	})
	x.touch(40)
	first, second := x.nodes[0].Addr(), x.nodes[1].Addr()
	x.act(2, 200, api.Action{Do: api.DoLimit, Type: "Cart", Limit: 77, Node: second})
	x.until("the limit is there", func(c api.Cluster) bool {
		limits := map[string]int{}
		for _, n := range c.Nodes {
			limits[n.Addr] = n.Types[0].Limit
		}
		return limits[first] == 1000 && limits[second] == 77
	})
	all := make([]int, 16)
	for i := range all {
		all[i] = i
	}
	x.act(2, 200, api.Action{Do: api.DoMove, Type: "Cart", Node: second, Shards: all})
	x.until("the shards have moved", func(c api.Cluster) bool {
		x.act(2, 200, api.Action{Do: api.DoRebalance, Type: "Cart"})
		return hosted(c)[second] == 16
	})
	x.act(1, 200, api.Action{Do: api.DoStopShards, Type: "Cart", Shards: all[:4]})
	x.until("four have stopped", func(c api.Cluster) bool { return hosted(c)[second] == 12 })
	x.act(0, 400, api.Action{Do: api.DoStopShards, Type: "Cart", Shards: []int{99}})
	x.act(0, 400, api.Action{Do: api.DoMove, Type: "Cart", Node: second, Shards: []int{99}})
	c := get[api.Cluster](x, 0, "cluster")
	moves := uint64(0)
	for _, n := range c.Nodes {
		moves += n.Types[0].Moves.Done
	}
	if moves == 0 {
		t.Error("no move is counted")
	}
}
