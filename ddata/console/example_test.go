package console_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/console"
	"github.com/coterie-go/coterie/ddata/console/api"
	"github.com/coterie-go/coterie/ddata/console/client"
	"github.com/coterie-go/coterie/ddata/events"
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

// A service with an authentication of its own says for each request what its maker may do. Every action is
// an event, and so are attempts that were refused.
func ExampleConfig() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	node, err := ddata.Start(ctx, ddata.Config{
		Name: "shop", Bind: "127.0.0.1:0", BootstrapExpect: 1, Preset: ddata.Local,
		Logger: slog.New(slog.DiscardHandler),
		OnEvent: func(e events.Event) {
			if e, ok := e.(console.Acted); ok && e.Err == nil {
				fmt.Println(e.Action.Do, "by", strings.Fields(e.By)[0])
			}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = node.Leave(ctx) }()

	staff := map[string]console.Access{"alice": console.Read, "bob": console.Operate}
	handler := console.Handler(node, console.Config{Authorize: func(r *http.Request) (console.Caller, error) {
		name := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") // a service proves it
		if _, known := staff[name]; !known {
			return console.Caller{}, console.Challenge("Bearer")
		}
		return console.Caller{Access: staff[name], Name: name}, nil
	}})
	server := httptest.NewServer(handler)
	defer server.Close()
	defer http.DefaultClient.CloseIdleConnections()

	for _, name := range []string{"", "alice", "bob"} {
		operator := client.Client{URL: server.URL, Token: name}
		_, err := operator.Act(ctx, api.Action{Do: api.DoPrepare})
		fmt.Println(name, err)
	}
	// Output:
	// authenticate first (401 refused)
	// alice console: refused: you may look, and not act (403 refused)
	// prepare-shutdown by bob
	// bob <nil>
}
