package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/console"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/events/recent"
	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/passivation"
)

// count is a question to a cart: how many it has had.
type count struct{ sharding.Returns[any, int] }

// shop is a cluster with an entity type, and the console of its first node.
type shop struct {
	nodes   []*ddata.Node
	regions []*sharding.Region[any]
	server  *httptest.Server
	sick    atomic.Bool // the server answers nothing but 503
	partly  atomic.Bool // it answers no question for shards, and one for events without a node
}

const (
	shards = 32
	carts  = 500
)

// odd is an id that a page could take for markup.
const odd = `<b onclick="x">cart</b>`

func openShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{nodes: ddatatest.StartWith(t, 3, func(_ int, c *ddata.Config) {
		c.Name, c.Downing, c.AppVersion, c.Meter = "shop", downing.Manual{}, "1.4.2", recent.New(nil)
	})}
	for _, n := range s.nodes {
		s.open(t, n)
	}
	h := console.Handler(s.nodes[0], console.Config{
		Authorize: console.Tokens{Read: "look", Operate: "steer"}.Authorize,
	})
	mux := http.NewServeMux()
	mux.Handle("/coterie/", h)
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.sick.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if s.partly.Load() && s.partial(w, r) {
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.server.Close)
	s.visit(t)
	return s
}

// partial answers a question as a console does that cannot say all. It reports whether it was one of these.
func (s *shop) partial(w http.ResponseWriter, r *http.Request) bool {
	switch r.URL.Path {
	case "/coterie/api/v1/shards":
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"code":"not-found","text":"no shards today"}`))
	case "/coterie/api/v1/events":
		_, _ = w.Write([]byte(`{"events":[],"unanswered":[{"uid":"1","addr":"far:1","why":"it hangs"}]}`))
	default:
		return false
	}
	return true
}

// open starts the entity type on a node.
func (s *shop) open(t *testing.T, n *ddata.Node) {
	t.Helper()
	typ := sharding.EntityType[any]{
		Identity: sharding.Identity{Name: "Cart", Role: ddata.DefaultRole, Shards: shards},
		Messages: sharding.CBOR[any](count{}),
		New:      func(*sharding.Context[any]) sharding.Entity[any] { return &cart{} },
	}
	typ.Allocation.Strategy = allocation.External{}
	typ.Passivation.Strategy = passivation.Strategy{ActiveEntityLimit: 100_000}
	typ.Rebalance.Interval, typ.Rebalance.Delay = time.Hour, time.Nanosecond // what moves was asked for
	g, err := sharding.Start(n, typ)
	if err != nil {
		t.Fatal(err)
	}
	s.regions = append(s.regions, g)
	console.Answer(n, console.Operate)
}

// join starts one more node.
func (s *shop) join(t *testing.T) *ddata.Node {
	t.Helper()
	n := ddatatest.StartWith(t, 1, func(_ int, c *ddata.Config) {
		c.Name, c.Downing, c.AppVersion, c.BootstrapExpect = "shop", downing.Manual{}, "1.4.2", 0
		c.Seeds = []string{s.nodes[0].Addr()}
	})[0]
	s.open(t, n)
	return n
}

// visit has all carts handle a question.
func (s *shop) visit(t *testing.T) {
	t.Helper()
	for i := range carts {
		if _, err := sharding.Ask(t.Context(), s.regions[0].Ref(fmt.Sprint("cart-", i)), count{}); err != nil {
			t.Fatal(err)
		}
	}
}

// cart counts the questions that it has had.
type cart struct{ n int }

// Receive implements sharding.Entity.
func (c *cart) Receive(x *sharding.Context[any], _ any) error {
	c.n++
	return x.Reply(c.n)
}
