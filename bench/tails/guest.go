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

// giving is whether other processes go before a guest.
type giving string

const (
	// wayToAll is how it is measured: as if the nodes that serve had machines of their own.
	wayToAll giving = "way-to-all"
	// wayToNone is for a time too short for figures: a guest must come to an end on a machine that is busy.
	wayToNone giving = "way-to-none"
	// figures need so long a time.
	figures = 500 * time.Millisecond
)

// giveWay is for cases of so long a time.
func giveWay(d time.Duration) giving {
	if d < figures {
		return wayToNone
	}
	return wayToAll
}

// Guest is main of a process whose node comes and goes as its standard input says.
func Guest(ctx context.Context, way, dir, self string, addrs []string) error {
	i, err := strconv.Atoi(self)
	if err != nil || i < 0 || i >= len(addrs) {
		return fmt.Errorf("no node %q of %d", self, len(addrs))
	}
	if giving(way) == wayToAll {
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
