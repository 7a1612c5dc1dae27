package doc_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/shardingtest"
)

// timed stands before an entity of any type, and tells how long each message takes.
type timed[M any] struct {
	sharding.Entity[M]
	log *slog.Logger
}

// Receive implements sharding.Entity.
func (e timed[M]) Receive(c *sharding.Context[M], msg M) error {
	began := time.Now()
	err := e.Entity.Receive(c, msg)
	e.log.Info("handled", "entity", c.ID(), "took", time.Since(began), "err", err)
	return err
}

// withTimes has all entities of a type stand behind it.
func withTimes[M any](typ sharding.EntityType[M], log *slog.Logger) sharding.EntityType[M] {
	plain := typ.New
	typ.New = func(c *sharding.Context[M]) sharding.Entity[M] { return timed[M]{plain(c), log} }
	return typ
}

func TestTimed(t *testing.T) {
	var log strings.Builder
	k := shardingtest.New(t, withTimes(carts, slog.New(slog.NewTextHandler(&log, nil))))
	if err := k.Tell("cart-42", AddItem{"apple", 2}); err != nil {
		t.Fatal(err)
	}
	if n, err := shardingtest.Ask(k, "cart-42", Total{}); n != 2 || err != nil {
		t.Error(n, err)
	}
	if n := strings.Count(log.String(), "entity=cart-42 took="); n != 2 {
		t.Error(log.String())
	}
}

// client is a node that has no entities: it has another role, or none, and asks those that have.
func client(node *ddata.Node) (*sharding.Region[Command], error) {
	typ := carts
	typ.New = nil // it hosts nothing
	return sharding.StartProxy(node, typ)
}

func TestClient(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := ddatatest.NewCluster(t, 3, func(i int, c *ddata.Config) {
			if c.Roles = []string{"backend"}; i == 2 {
				c.Roles = []string{"web"}
			}
		})
		for _, n := range c.Nodes()[:2] {
			if _, err := sharding.Start(n, carts); err != nil {
				t.Fatal(err)
			}
		}
		proxy, err := client(c.Node(2))
		if err != nil {
			t.Fatal(err)
		}
		if err := proxy.Tell(t.Context(), "cart-42", AddItem{"apple", 2}); err != nil {
			t.Fatal(err)
		}
		if n, err := sharding.Ask(t.Context(), proxy.Ref("cart-42"), Total{}); n != 2 || err != nil {
			t.Error(n, err)
		}
		if at, err := proxy.Where(t.Context(), "cart-42"); at.Node == c.Node(2).UID() || err != nil {
			t.Error(at, err)
		}
	})
}
