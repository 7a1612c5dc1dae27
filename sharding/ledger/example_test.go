package ledger_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/ledger"
	"github.com/coterie-go/coterie/sharding/persistence/memory"
)

// Ping is a message without content.
type Ping struct{ sharding.Returns[Ping, string] }

// Page is an entity.
type Page struct{}

// Receive answers.
func (Page) Receive(c *sharding.Context[Ping], _ Ping) error { return c.Reply("here") }

// The homes of shards are in a journal, for nodes without disks. In production that is PostgreSQL.
func ExampleNew() {
	journal := &memory.Store{}
	var homes *ledger.Ledger
	homes, err := ledger.New(ledger.Config{Type: "Page", Journal: journal, Snapshots: journal})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	node, err := ddata.Start(ctx, ddata.Config{
		Name: "site", Bind: "127.0.0.1:0", BootstrapExpect: 1, Roles: []string{"backend"}, Preset: ddata.Local,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	pages, err := sharding.Start(node, sharding.EntityType[Ping]{
		Identity:     sharding.Identity{Name: "Page", Role: "backend"},
		Messages:     sharding.CBOR[Ping](Ping{}),
		New:          func(*sharding.Context[Ping]) sharding.Entity[Ping] { return Page{} },
		Coordination: sharding.Coordination{Ledger: homes},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(sharding.Ask(ctx, pages.Ref("front"), Ping{}))
	fmt.Println(node.Leave(ctx))

	// A tool forgets them, while no node of the type runs.
	held, err := ledger.Remove(ctx, journal, "Page")
	fmt.Println(held.Events > 0, err)
	// Output:
	// here <nil>
	// <nil>
	// true <nil>
}
