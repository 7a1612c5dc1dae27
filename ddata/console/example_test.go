package console_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/console"
	"github.com/coterie-go/coterie/ddata/console/client"
)

// mount serves the console of a node to the holders of two tokens.
func mount(mux *http.ServeMux, node *ddata.Node, look, steer string) {
	tokens := console.Tokens{Read: look, Operate: steer}
	mux.Handle("/coterie/", console.Handler(node, console.Config{Authorize: tokens.Authorize}))
}

func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	node, err := ddata.Start(ctx, ddata.Config{
		Name: "shop", Bind: "127.0.0.1:0", BootstrapExpect: 1, Preset: ddata.Local,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = node.Leave(ctx) }()

	mux := http.NewServeMux()
	mount(mux, node, "a secret", "another one")
	server := httptest.NewServer(mux)
	defer server.Close()
	defer http.DefaultClient.CloseIdleConnections()

	stranger := client.Client{URL: server.URL + "/coterie/"}
	_, err = stranger.Cluster(ctx)
	fmt.Println(err)
	operator := client.Client{URL: server.URL + "/coterie/", Token: "a secret"}
	cluster, err := operator.Cluster(ctx)
	fmt.Println(cluster.Name, len(cluster.View.Members), cluster.Nodes[0].Ready, err)
	// Output:
	// authenticate first (401 refused)
	// shop 1 true <nil>
}
