// Command chat is a chat with a web page on three nodes. A room is an entity, which puts what is said
// into one order; what was said is replicated data, which each node pushes to its browsers.
//
//	go run ./examples/chat
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
	cfg := ddata.Config{Name: "chat", Roles: []string{"web"}}
	return local.Service(ctx, out, first, cfg, func(n *ddata.Node) (http.Handler, error) {
		data, err := n.Replicator("web")
		if err != nil {
			return nil, err
		}
		rooms, err := sharding.Start(n, roomType(data))
		return Web{data, rooms}.Handler(), err
	})
}
