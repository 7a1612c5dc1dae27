// Command cart serves shopping carts over HTTP from three nodes. A cart is an entity that keeps its
// events in the replicated data of the nodes, so no database is needed: a cart outlives the node that it
// is on, and with a directory a stop of all nodes. The directory is cart-data, if no other is named.
//
//	go run ./examples/cart
//	curl -X POST 'http://127.0.0.1:8080/carts/alice/items?item=pen&count=2'
//	curl http://127.0.0.1:8081/carts/alice
package main

import (
	"context"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/examples/local"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence/replicated"
)

func main() {
	dir := "cart-data"
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, 8080, dir); err != nil {
		log.Fatal(err)
	}
}

// run serves until ctx is over, at ports from first on.
func run(ctx context.Context, out io.Writer, first int, dir string) error {
	cfg := ddata.Config{Name: "shop", Roles: []string{"shop"}, Dir: dir}
	return local.Service(ctx, out, first, cfg, func(n *ddata.Node) (http.Handler, error) {
		carts, err := start(n)
		return Shop{carts}.Handler(), err
	})
}

// start starts the carts on a node.
func start(n *ddata.Node) (*sharding.Region[Command], error) {
	journal, err := replicated.Open(n, "shop")
	if err != nil {
		return nil, err
	}
	typ, err := cartType(journal)
	if err != nil {
		return nil, err
	}
	return sharding.Start(n, typ)
}
