// Command presence knows which users are connected, to whatever node. Each node keeps its own users in
// a set that belongs to it. When the node dies, its users vanish from the set on all others, without
// any clean-up.
//
//	go run ./examples/presence
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"strings"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/examples/local"
)

// online is the set of connected users. An element belongs to the nodes that have added it.
var online = ddata.NewKey[crdt.NodeSet[string]]("online")

// connect says that a user has connected to this node, or has disconnected.
func connect(ctx context.Context, data *ddata.Replicator, user string, connected bool) error {
	return ddata.Update(ctx, data, online, ddata.WriteLocal, func(s *crdt.NodeSetTx[string]) error {
		if connected {
			return s.Add(user)
		}
		return s.Remove(user)
	})
}

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer) error {
	cfg := ddata.Config{Name: "chat", Roles: []string{"front"}}
	start := func(n *ddata.Node) (*ddata.Replicator, error) { return n.Replicator("front") }
	return local.Run(3, cfg, start, func(ctx context.Context, nodes []*ddata.Node, data []*ddata.Replicator) error {
		for i, users := range [][]string{{"alice"}, {"bob"}, {"carol", "alice"}} {
			for _, u := range users {
				if err := connect(ctx, data[i], u, true); err != nil {
					return err
				}
			}
		}
		if err := show(ctx, out, data[0], "alice bob carol"); err != nil {
			return err
		}
		if err := connect(ctx, data[1], "bob", false); err != nil {
			return err
		}
		if err := show(ctx, out, data[0], "alice carol"); err != nil {
			return err
		}
		// The third node dies without a word. carol was connected to it alone, alice to the first one, too.
		if err := nodes[2].Close(); err != nil {
			return err
		}
		return show(ctx, out, data[0], "alice")
	})
}

// show prints the set when it is what it should become.
func show(ctx context.Context, out io.Writer, data *ddata.Replicator, want string) error {
	for change, err := range ddata.Watch(ctx, data, online) {
		if err != nil {
			return err
		}
		if got := strings.Join(slices.Sorted(change.Value.All()), " "); got == want {
			fmt.Fprintln(out, "online:", got)
			break
		}
	}
	return nil
}
