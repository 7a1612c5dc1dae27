// Command votes holds a vote on three nodes. Each node counts the votes that it gets at once, without
// asking the others; the sums are the same everywhere in the end. The vote is closed by a flag, and what
// is counted later does not change the result: the result is a value that is written once.
//
//	go run ./examples/votes
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/examples/local"
)

// The vote is three keys: what was counted, whether it is closed, and the result.
var (
	counted = ddata.NewKey[crdt.PNCounterMap[string]]("vote/counted")
	closed  = ddata.NewKey[crdt.Flag]("vote/closed")
	result  = ddata.NewKey[crdt.FWWRegister[string]]("vote/result")
)

// errClosed says that a vote came too late.
var errClosed = errors.New("the vote is closed")

// vote counts a vote here. It spreads to the others within moments, and a node that dies before that
// takes it along: WriteMajority would prevent that.
func vote(ctx context.Context, data *ddata.Replicator, candidate string) error {
	over, err := ddata.Get(ctx, data, closed, ddata.ReadLocal)
	if err != nil {
		return err
	}
	if over.Enabled() {
		return errClosed
	}
	return ddata.Update(ctx, data, counted, ddata.WriteLocal, func(m *crdt.PNCounterMapTx[string]) error {
		return m.Increment(candidate, 1)
	})
}

// end closes the vote on all nodes, and returns the winner. Of two nodes that do so at one time, the
// first to write the result counts, for both.
func end(ctx context.Context, data *ddata.Replicator) (winner string, err error) {
	err = ddata.Update(ctx, data, closed, ddata.WriteAll, func(f *crdt.FlagTx) error { return f.Enable() })
	if err != nil {
		return "", err
	}
	sums, err := ddata.Get(ctx, data, counted, ddata.ReadAll)
	if err != nil {
		return "", err
	}
	most := int64(0)
	for candidate, n := range sums.All() {
		if n > most || n == most && candidate < winner {
			winner, most = candidate, n
		}
	}
	err = ddata.Update(ctx, data, result, ddata.WriteMajority, func(r *crdt.FWWRegisterTx[string]) error {
		_, err := r.Put(winner) // false: there is one already
		return err
	})
	if err != nil {
		return "", err
	}
	first, err := ddata.Get(ctx, data, result, ddata.ReadMajority)
	if err != nil {
		return "", err
	}
	winner, _ = first.Get()
	return winner, nil
}

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer) error {
	cfg := ddata.Config{Name: "votes", Roles: []string{"poll"}}
	start := func(n *ddata.Node) (*ddata.Replicator, error) { return n.Replicator("poll") }
	return local.Run(3, cfg, start, func(ctx context.Context, _ []*ddata.Node, data []*ddata.Replicator) error {
		for i := range 300 {
			candidate := "tea"
			if i%5 < 2 {
				candidate = "coffee"
			}
			if err := vote(ctx, data[i%3], candidate); err != nil {
				return err
			}
		}
		winner, err := end(ctx, data[1])
		if err != nil {
			return err
		}
		sums, err := ddata.Get(ctx, data[2], counted, ddata.ReadAll)
		if err != nil {
			return err
		}
		for candidate, n := range sums.All() {
			fmt.Fprintln(out, candidate, n)
		}
		fmt.Fprintln(out, "the winner is", winner)
		fmt.Fprintln(out, "a late vote:", vote(ctx, data[0], "coffee"))
		return nil
	})
}
