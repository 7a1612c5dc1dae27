package tails

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/coterie-go/coterie/bench/child"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/durable/lmdb"
)

// figures need so long a time. In a shorter one, as of a test, guests are no lower than others: they must come to an
// end on a machine that is busy.
const figures = 500 * time.Millisecond

// Guest is main of a process whose node comes and goes as its standard input says. If lowest is true, other processes
// go before it: the nodes that serve have machines of their own.
func Guest(ctx context.Context, lowest, dir, self string, addrs []string) error {
	i, err := strconv.Atoi(self)
	if err != nil || i < 0 || i >= len(addrs) {
		return fmt.Errorf("no node %q of %d", self, len(addrs))
	}
	if lowest == "true" {
		if err := child.Lowest(); err != nil {
			return err
		}
	}
	g := guest{dir: dir, self: i, addrs: addrs}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		n, err := g.do(ctx, lines.Text())
		if err != nil {
			return err
		}
		fmt.Println(n)
	}
	if g.node != nil {
		return g.node.Close()
	}
	return nil
}

type guest struct {
	dir   string
	self  int
	addrs []string
	node  *ddata.Node // nil: not started
}

// do does what the word says. Of a start it returns how many repairs that took.
func (g *guest) do(ctx context.Context, what string) (n int, err error) {
	switch what {
	case "start":
		if g.node, err = startNode(ctx, g.dir, g.self, g.addrs); err != nil {
			return 0, err
		}
		r, err := g.node.Replicator(role)
		if err != nil {
			return 0, err
		}
		return int(r.Stats().Repairs), nil
	case "leave":
		return 0, g.node.Leave(ctx)
	case "compact":
		_, err := lmdb.Compact(g.dir, lmdb.Options{})
		return 0, err
	case "forget":
		return 0, os.RemoveAll(g.dir)
	}
	return 0, fmt.Errorf("unknown word %q", what)
}
