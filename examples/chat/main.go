// Command chat is a chat with a web page on three nodes. A room is an entity, which puts what is said
// into one order; what was said is replicated data, which each node pushes to its browsers.
//
//	go run ./examples/chat
package main

import (
	"context"
	"errors"
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
func run(ctx context.Context, out io.Writer, first int) (err error) {
	nodes, err := local.Start(ctx, 3, ddata.Config{Name: "chat", Roles: []string{"web"}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, local.Stop(context.WithoutCancel(ctx), nodes)) }()
	var handlers []http.Handler
	for _, n := range nodes {
		data, err := n.Replicator("web")
		if err != nil {
			return err
		}
		rooms, err := sharding.Start(n, roomType(data))
		if err != nil {
			return err
		}
		handlers = append(handlers, Web{data, rooms}.Handler())
	}
	return local.Serve(ctx, out, first, handlers...)
}
