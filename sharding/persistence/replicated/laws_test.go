package replicated_test

import (
	"context"
	"flag"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/sharding/persistence/persistencetest"
	"github.com/coterie-go/coterie/sharding/persistence/replicated"
)

const role = "role"

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("rapid.checks", "15")
	goleak.VerifyTestMain(m)
}

// cluster is the nodes of a role with their directories.
type cluster struct {
	nodes []*ddata.Node
	dirs  []string
}

func start(t testing.TB, dirs ...string) *cluster {
	t.Helper()
	return &cluster{dirs: dirs, nodes: ddatatest.StartWith(t, len(dirs), func(i int, c *ddata.Config) {
		c.Roles, c.Dir, c.RequestTimeout = []string{role}, dirs[i], time.Minute // disks are slow on a busy machine
	})}
}

// join starts one more node, which has the first ones as seeds.
func (c *cluster) join(t testing.TB, dir string) *ddata.Node {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	n, err := ddata.Start(ctx, ddata.Config{
		Name: "test", Bind: "127.0.0.1:0", Seeds: []string{c.nodes[0].Addr(), c.nodes[1].Addr()}, Preset: ddata.Local,
		Roles: []string{role}, Dir: dir, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	return n
}

func open(t testing.TB, n *ddata.Node) *replicated.Store {
	t.Helper()
	s, err := replicated.Open(n, role)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (c *cluster) stop(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := c.nodes[0].PrepareForShutdown(ctx); err != nil {
		t.Fatal(err)
	}
	for _, n := range c.nodes {
		if err := n.Leave(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

func (c *cluster) opened(t testing.TB) *persistencetest.Opened {
	t.Helper()
	first := open(t, c.nodes[0])
	return &persistencetest.Opened{
		A: persistencetest.DoorOf(first), Damage: first.Damage,
		B: persistencetest.DoorOf(open(t, c.nodes[len(c.nodes)-1])),
		Reopen: func(t testing.TB) *persistencetest.Opened {
			c.stop(t)
			return start(t, c.dirs...).opened(t)
		},
	}
}

func TestLawsOfOneNode(t *testing.T) {
	persistencetest.Run(t, func(t testing.TB) *persistencetest.Opened {
		return start(t, t.TempDir()).opened(t)
	})
}

func TestLawsOfThreeNodes(t *testing.T) {
	persistencetest.Run(t, func(t testing.TB) *persistencetest.Opened {
		return start(t, t.TempDir(), t.TempDir(), t.TempDir()).opened(t)
	})
}
