package console

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/console/api"
	"github.com/coterie-go/coterie/ddata/console/section"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/events/recent"
	"github.com/coterie-go/coterie/ddata/transport"
)

// patience is for what comes soon.
const patience = 30 * time.Second

// allowed lets all act, which a test is.
func allowed(*http.Request) (Caller, error) { return Caller{Access: Operate}, nil }

// ask asks a handler, and reads what it answers with status as a T.
func ask[T any](t *testing.T, h http.Handler, status int, method, path, body string) (x T) {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(api.Header, "test")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != status {
		t.Fatalf("%s %.200s: %d %s, want %d", method, path, w.Code, w.Body, status)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &x); err != nil {
		t.Fatalf("%s %.200s: %v: %s", method, path, err, w.Body)
	}
	return x
}

// types are entity types that a test shows: one type, with many shards, of which the node with the
// number hosts those whose number leaves it as the remainder.
type types struct {
	node   *ddata.Node
	nodes  []*ddata.Node
	shards int
	name   string // default: Cart

	mu    sync.Mutex
	acted []api.Action
}

func (e *types) Types() []api.Type {
	hosted := 0
	for i := range e.shards {
		if e.home(i) == e.node {
			hosted++
		}
	}
	return []api.Type{{Name: e.typ(), Role: "a", Shards: e.shards, Hosted: hosted, Coordinating: e.node == e.nodes[0]}}
}

func (e *types) typ() string { return cmp.Or(e.name, "Cart") }

func (e *types) home(shard int) *ddata.Node { return e.nodes[shard%len(e.nodes)] }

func (e *types) Shards(_ context.Context, typ string, from, limit int) (all []api.Shard, total int, err error) {
	if typ != e.typ() {
		return nil, 0, fmt.Errorf("%w: %q", section.ErrUnknown, typ)
	}
	for i := from; i < min(e.shards, from+limit); i++ {
		s := api.Shard{Shard: i, Node: uidText(e.home(i).UID()), Buffered: 1}
		if e.home(i) == e.node {
			s.Active, s.Entities = 5, 6
		}
		all = append(all, s)
	}
	return all, e.shards, nil
}

func (e *types) Entity(_, id string) (api.Entity, error) {
	return api.Entity{ID: id, Waiting: 3, Doing: "it counts on " + e.node.Addr()}, nil
}

func (e *types) Find(_ context.Context, typ, id string) (api.Entity, error) {
	return api.Entity{Type: typ, ID: id, Node: uidText(e.nodes[len(e.nodes)-1].UID())}, nil
}

func (e *types) Act(_ context.Context, a api.Action) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.acted = append(e.acted, a)
	return "done on " + e.node.Addr(), nil
}

// cluster starts nodes with a console each, and types on all.
func cluster(t *testing.T, n, shards int, cfg Config) (nodes []*ddata.Node, hs []http.Handler, all []*types) {
	t.Helper()
	nodes = ddatatest.Start(t, slices.Repeat([]string{"a"}, n)...)
	cfg.Authorize = allowed
	for _, node := range nodes {
		e := &types{node: node, nodes: nodes, shards: shards}
		section.Put(node.Host(), e)
		all, hs = append(all, e), append(hs, Handler(node, cfg))
	}
	return nodes, hs, all
}

// One console shows all nodes: the view, what each says of itself, its data, and its entity types.
func TestCluster(t *testing.T) {
	nodes, hs, _ := cluster(t, 3, 10, Config{NodeTimeout: patience})
	x := ask[api.Cluster](t, hs[1], 200, "GET", "/api/v1/cluster", "")
	if x.Name != "test" || x.Asked != uidText(nodes[1].UID()) || len(x.View.Members) != 3 || len(x.Nodes) != 3 ||
		len(x.Unanswered) > 0 || x.View.Epoch == 0 ||
		x.View.Format != uint32(nodes[1].View().Format) || x.View.Format == 0 {
		t.Fatalf("%+v", x)
	}
	for i, m := range x.View.Members {
		n := x.Nodes[i]
		if n.UID != m.UID || !n.Live || !n.Ready || !n.Lease || len(n.Unreachable) > 0 || n.Epoch == 0 {
			t.Errorf("node %d: %+v of member %+v", i, n, m)
		}
		if m.Formats[0] < 1 || m.Formats[1] < x.View.Format {
			t.Errorf("the view writes %d, and member %d speaks %v", x.View.Format, i, m.Formats)
		}
		if i > 0 && x.View.Members[i-1].Age >= m.Age || m.Status != "Up" || !m.Voter {
			t.Errorf("member %d: %+v", i, m)
		}
		if (len(m.OldestOf) == 1) != (i == 0) {
			t.Errorf("member %d is the oldest of %q", i, m.OldestOf)
		}
		if len(n.Roles) != 2 || len(n.Types) != 1 || n.Transport.Links == 0 {
			t.Errorf("node %d: %+v", i, n)
		}
		for j, r := range n.Roles {
			if r.Name != "a" || r.Data != [...]string{"user", "reserved"}[j] || r.Replicas != 3 || !r.CaughtUp ||
				len(r.Lags) != 2 {
				t.Errorf("node %d: %+v", i, r)
			}
		}
	}
	own := ask[api.Node](t, hs[2], 200, "GET", "/api/v1/node", "")
	if own.UID != uidText(nodes[2].UID()) {
		t.Errorf("%+v", own)
	}
	if paths := ask[[]api.Path](t, hs[0], 200, "GET", "/api/v1", ""); len(paths) != len(api.Paths) {
		t.Errorf("%v", paths)
	}
	found := ask[api.Entity](t, hs[0], 200, "GET", "/api/v1/entity?type=Cart&id=x", "")
	if found.Doing != "it counts on "+nodes[2].Addr() || found.Node != uidText(nodes[2].UID()) || found.Waiting != 3 {
		t.Errorf("%+v", found)
	}
	ev := ask[api.Events](t, hs[0], 200, "GET", "/api/v1/events?limit=5", "")
	if len(ev.Unanswered) > 0 {
		t.Errorf("%+v", ev)
	}
}

// Ten thousand shards come in pages; each is as its host says, and what waits is added up.
func TestManyShards(t *testing.T) {
	nodes, hs, _ := cluster(t, 2, 10_000, Config{NodeTimeout: patience})
	for from := 0; from < 10_000; from += api.PageMax {
		x := ask[api.Shards](t, hs[0], 200, "GET", fmt.Sprintf("/api/v1/shards?type=Cart&from=%d&limit=%d", from,
			api.PageMax), "")
		if x.Total != 10_000 || len(x.Shards) != api.PageMax || len(x.Unanswered) > 0 || x.From != from {
			t.Fatalf("%d of %d shards", len(x.Shards), x.Total)
		}
		for i, s := range x.Shards {
			if s.Shard != from+i || s.Node != uidText(nodes[s.Shard%2].UID()) || s.Active != 5 || s.Buffered != 2 {
				t.Fatalf("%+v", s)
			}
		}
	}
	if x := ask[api.Shards](t, hs[0], 200, "GET", "/api/v1/shards?type=Cart&from=20000", ""); len(x.Shards) != 0 {
		t.Errorf("%+v", x)
	}
	ask[api.Error](t, hs[0], 404, "GET", "/api/v1/shards?type=Card", "")
}

// Garbage and what is too large is refused before any node is asked.
func TestGarbage(t *testing.T) {
	_, hs, all := cluster(t, 1, 10, Config{})
	long := strings.Repeat("x", api.IDMax+1)
	for _, path := range []string{
		"shards", "shards?type=", "shards?type=" + long, "shards?type=Cart&from=-1", "shards?type=Cart&from=x",
		"shards?type=Cart&limit=1001", "shards?type=Cart&limit=99999999999999999999", "entity?type=Cart",
		"entity?type=Cart&id=" + long, "events?limit=1001", "events?limit=-1", "events?limit=%00",
	} {
		if e := ask[api.Error](t, hs[0], 400, "GET", "/api/v1/"+path, ""); e.Code != api.CodeBad {
			t.Errorf("%.60s: %+v", path, e)
		}
	}
	for _, path := range []string{"/api/v2/cluster", "/api/v1/", "/api/v1/cluster/", "/x", "/page/index.html",
		"/..%2fmain.go"} {
		ask[api.Error](t, hs[0], 404, "GET", path, "")
	}
	ask[api.Error](t, hs[0], 405, "POST", "/api/v1/cluster", "")
	many, _ := json.Marshal(api.Action{Do: api.DoStopShards, Type: "Cart", Shards: make([]int, api.ShardsMax+1)})
	for _, body := range []string{
		"", "[]", "{", `{"do":""}`, `{"do":"explode"}`, `{"do":"down"}`, `{"do":"rebalance"}`,
		`{"do":"leave"}`, `{"do":"drain"}`, `{"do":"limit","type":"Cart"}`,
		`{"do":"limit","type":"Cart","limit":5,"nodes":"n"}`, `{"do":"limit","type":"Cart","limit":5} {}`,
		`{"do":"limit","type":"Cart","limit":5}]`,
		`{"do":"stop-shards","type":"Cart"}`, `{"do":"stop-shards","type":"Cart","shards":[-1]}`, string(many),
		`{"do":"passivate","type":"Cart"}`, `{"do":"passivate","type":"Cart","entity":"` + long + `"}`,
		`{"do":"limit","type":"Cart","limit":-5}`, `{"do":"move","type":"Cart","node":"n"}`, `{"do":7}`,
		`{"do":"` + strings.Repeat("x", bodyMax) + `"}`,
	} {
		if e := ask[api.Error](t, hs[0], 400, "POST", "/api/v1/actions", body); e.Code != api.CodeBad {
			t.Errorf("%.60s: %+v", body, e)
		}
	}
	for _, body := range []string{`{"do":"leave","node":"gone:1"}`, `{"do":"rebalance","type":"Card"}`,
		`{"do":"move","type":"Cart","node":"gone:1","shards":[1]}`} {
		ask[api.Error](t, hs[0], 404, "POST", "/api/v1/actions", body)
	}
	if len(all[0].acted) > 0 {
		t.Errorf("it was done all the same: %v", all[0].acted)
	}
}

// A node that hangs is named, and costs no more than the time limit; the others' answers are there.
func TestHungNode(t *testing.T) {
	nodes, hs, _ := cluster(t, 3, 9, Config{NodeTimeout: 300 * time.Millisecond})
	nodes[2].Host().Channels.Handle(transport.ChannelOf(channel), transport.HandlerFunc(func(transport.NodeID,
		[]byte) {
	}))
	hung := uidText(nodes[2].UID())
	began := time.Now()
	x := ask[api.Cluster](t, hs[0], 200, "GET", "/api/v1/cluster", "")
	if len(x.Nodes) != 2 || len(x.Unanswered) != 1 || x.Unanswered[0].UID != hung || x.Unanswered[0].Why == "" {
		t.Errorf("%d nodes, %+v", len(x.Nodes), x.Unanswered)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	s := ask[api.Shards](t, hs[0], 200, "GET", "/api/v1/shards?type=Cart", "")
	if len(s.Shards) != 9 || len(s.Unanswered) != 1 || s.Shards[0].Active != 5 || s.Shards[2].Active != 0 {
		t.Errorf("%+v", s)
	}
	e := ask[api.Entity](t, hs[0], 200, "GET", "/api/v1/entity?type=Cart&id=x", "")
	if e.Node != hung || len(e.Unanswered) != 1 {
		t.Errorf("%+v", e)
	}
}

// A type whose only nodes give no answer is not unknown: these nodes are named.
func TestTypeOfSilentNode(t *testing.T) {
	nodes, hs, _ := cluster(t, 2, 4, Config{NodeTimeout: 300 * time.Millisecond})
	section.Put(nodes[0].Host(), &types{node: nodes[0], nodes: nodes, name: "Other"})
	for _, path := range []string{"shards?type=Nope", "entity?type=Nope&id=x"} {
		e := ask[api.Error](t, hs[0], 404, "GET", "/api/v1/"+path, "")
		if !strings.Contains(e.Text, "started on no node; there are: Cart, Other") {
			t.Errorf("%s: %s", path, e.Text)
		}
	}
	nodes[1].Host().Channels.Handle(transport.ChannelOf(channel), transport.HandlerFunc(func(transport.NodeID,
		[]byte) {
	}))
	hs[0].(*handler).cache.Clear()
	s := ask[api.Shards](t, hs[0], 200, "GET", "/api/v1/shards?type=Cart", "")
	if len(s.Unanswered) != 1 || s.Unanswered[0].UID != uidText(nodes[1].UID()) || len(s.Shards) > 0 {
		t.Errorf("%+v", s)
	}
	x := ask[api.Entity](t, hs[0], 200, "GET", "/api/v1/entity?type=Cart&id=x", "")
	if len(x.Unanswered) != 1 || x.Unanswered[0].UID != uidText(nodes[1].UID()) || x.ID != "x" ||
		x.Shard >= 0 {
		t.Errorf("%+v", x)
	}
	e := ask[api.Error](t, hs[0], 502, "POST", "/api/v1/actions", `{"do":"rebalance","type":"Cart"}`)
	if !strings.Contains(e.Text, nodes[1].Addr()) {
		t.Errorf("%+v", e)
	}
}

// alarm is an event with a long text.
type alarm struct{ text string }

func (a alarm) Line() events.Line { return events.Line{Level: slog.LevelWarn, Message: a.text} }

func (a alarm) String() string { return a.text }

// A node that has more to tell than one answer has room for tells the latest of it.
func TestStorm(t *testing.T) {
	nodes, hs, _ := cluster(t, 2, 4, Config{NodeTimeout: patience, Events: 600})
	loud := uidText(nodes[1].UID())
	for i := range 600 {
		nodes[1].Host().Emit(alarm{fmt.Sprint(i, strings.Repeat(" stack", 350))})
	}
	x := ask[api.Events](t, hs[0], 200, "GET", "/api/v1/events?limit=600", "")
	if len(x.Unanswered) > 0 || !slices.ContainsFunc(x.Events, func(e api.Event) bool {
		return e.Node == loud && strings.HasPrefix(e.Text, "599 ")
	}) {
		t.Errorf("%d events, and no answer of %+v", len(x.Events), x.Unanswered)
	}
	for _, n := range ask[api.Cluster](t, hs[0], 200, "GET", "/api/v1/cluster", "").Nodes {
		i := slices.IndexFunc(n.Alarms, func(a api.Alarm) bool { return a.Kind == "alarm" && a.Count == 600 })
		if (i >= 0) != (n.UID == loud) {
			t.Errorf("%s has alarms: %+v", n.Addr, n.Alarms)
		}
	}
}

// A node without a console says so at once.
func TestNodeWithoutConsole(t *testing.T) {
	nodes := ddatatest.Start(t, "a", "a")
	h := Handler(nodes[0], Config{Authorize: allowed, NodeTimeout: patience})
	x := ask[api.Cluster](t, h, 200, "GET", "/api/v1/cluster", "")
	if len(x.Nodes) != 1 || len(x.Unanswered) != 1 || !strings.Contains(x.Unanswered[0].Why, "console.Answer") {
		t.Errorf("%+v", x)
	}
}

// A node whose Meter keeps what was measured says what took how long; another says that its Meter does not.
func TestMetrics(t *testing.T) {
	nodes := ddatatest.StartWith(t, 2, func(i int, c *ddata.Config) {
		c.Roles = []string{"a"}
		if i == 0 {
			c.Meter = recent.New(nil)
		}
	})
	h := Handler(nodes[1], Config{Authorize: allowed, NodeTimeout: patience})
	Answer(nodes[0], Read)
	waiting := &events.Metric{Name: "coterie_persistence_waiting", Kind: events.Gauge, Labels: []string{"type"}}
	other := &events.Metric{Name: "coterie_members", Kind: events.Gauge}
	defer nodes[0].Host().Meter.Read(func(report func(*events.Metric, float64, ...string)) {
		report(waiting, 7, "Cart")
		report(other, 1)
	})()
	r, err := nodes[0].Replicator("a")
	if err != nil {
		t.Fatal(err)
	}
	const writes = 5
	for range writes {
		if err := r.Update(t.Context(), "k", ddata.WriteAll, func(*crdt.Tx) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	x := ask[api.Metrics](t, h, 200, "GET", "/api/v1/metrics", "")
	slices.SortFunc(x.Nodes, func(a, b api.NodeMetrics) int { // the one that keeps them first; they come by age
		return strings.Compare(fmt.Sprint(b.Kept), fmt.Sprint(a.Kept))
	})
	if len(x.Nodes) != 2 || len(x.Unanswered) > 0 || !x.Nodes[0].Kept || x.Nodes[1].Kept ||
		x.Nodes[0].UID != uidText(nodes[0].UID()) || x.Nodes[0].OverMillis <= 0 {
		t.Fatalf("%+v", x)
	}
	updates := slices.IndexFunc(x.Nodes[0].Timings, func(m api.Timing) bool {
		return m.Name == "coterie_request_duration_seconds" && m.Labels["op"] == "update" && m.Labels["role"] == "a"
	})
	if updates < 0 {
		t.Fatalf("%+v", x.Nodes[0].Timings)
	}
	// The last is observed when its caller may have gone on already.
	if m := x.Nodes[0].Timings[updates]; m.Count < writes-1 || m.Count > writes || m.P50 <= 0 || m.P99 < m.P50 {
		t.Errorf("%+v", m)
	}
	if g := x.Nodes[0].Gauges; len(g) != 1 || g[0].Name != waiting.Name || g[0].Labels["type"] != "Cart" ||
		g[0].Value != 7 {
		t.Errorf("%+v", g)
	}
}
