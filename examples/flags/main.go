// Command flags keeps feature flags on three nodes, and pushes each change to the browsers that are
// connected to any of them. A request for a flag needs no database and no hop: each node has them all.
//
//	go run ./examples/flags
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
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, 8080); err != nil {
		log.Fatal(err)
	}
}

// run serves until ctx is over, at ports from first on.
func run(ctx context.Context, out io.Writer, first int) error {
	cfg := ddata.Config{Name: "flags", Roles: []string{"web"}}
	return local.Service(ctx, out, first, cfg, func(n *ddata.Node) (http.Handler, error) {
		data, err := n.Replicator("web")
		return Service{data}.Handler(), err
	})
}
