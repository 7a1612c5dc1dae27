// Command customtype counts votes on three nodes with a replicated data type of its own, [Votes]. The
// tests beside it hold the type to the laws that each such type must keep, and find the mistake of a
// second one, [Hasty].
//
//	go run ./examples/customtype
//	go test ./examples/customtype
//
// votes.go is the type, and votes_test.go all that tests it. found_test.go runs the same test on the
// type with the mistake, and looks at what it says.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/examples/local"
)

// tea is the key of the votes for tea. A type of one's own is used like those of the library.
var tea = ddata.NewKey[Votes]("votes/tea")

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer) error {
	cfg := ddata.Config{Name: "poll", Roles: []string{"poll"}}
	start := func(n *ddata.Node) (*ddata.Replicator, error) { return n.Replicator("poll") }
	return local.Run(3, cfg, start, func(ctx context.Context, _ []*ddata.Node, data []*ddata.Replicator) error {
		for i, r := range data {
			votes := uint64(10 * (i + 1))
			err := ddata.Update(ctx, r, tea, ddata.WriteMajority, func(v *VotesTx) error { return v.Add(votes) })
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "node %d has got %d votes\n", i+1, votes)
		}
		for i, r := range data {
			all, err := ddata.Get(ctx, r, tea, ddata.ReadMajority)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "node %d reads %d\n", i+1, all.Count)
		}
		return nil
	})
}
