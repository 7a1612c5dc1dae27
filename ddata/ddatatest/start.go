package ddatatest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/transport"
)

// Patience is how long a cluster may take to be founded: far more than it takes where the processor
// is free, and reached only when something is broken.
const Patience = time.Minute

// Start starts a cluster of one node per role named, in that order, and fails the test if it
// cannot.
func Start(t TB, roles ...string) []*ddata.Node {
	t.Helper()
	return StartWith(t, len(roles), func(i int, c *ddata.Config) { c.Roles = []string{roles[i]} })
}

// StartWith starts a cluster of n nodes. edit, unless it is nil, may change the configuration of
// each, which has its Bind, its Network and its Seeds, which are all nodes. A caller that wants
// another Network should wrap that one.
func StartWith(t TB, n int, edit func(i int, c *ddata.Config)) []*ddata.Node {
	t.Helper()
	configs := make([]ddata.Config, n)
	var addrs []string
	for i := range configs {
		k := keep(t)
		addrs = append(addrs, k.addr)
		configs[i] = ddata.Config{
			Name: "test", Bind: k.addr, BootstrapExpect: n, Preset: ddata.Local,
			Logger: slog.New(slog.DiscardHandler), Network: k,
		}
	}
	for i := range configs {
		configs[i].Seeds = addrs
		if edit != nil {
			edit(i, &configs[i])
		}
	}
	nodes, err := startAll(upTo(n), configs)
	t.Cleanup(func() {
		for _, n := range nodes {
			if n != nil {
				_ = n.Close()
			}
		}
	})
	if err != nil {
		t.Fatalf("ddatatest: %v", err)
	}
	return nodes
}

// upTo is the numbers below one.
func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// startAll starts nodes with such numbers side by side, as founders must be. After an error some of them run;
// the others are nil.
func startAll(numbers []int, configs []ddata.Config) ([]*ddata.Node, error) {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	nodes, errs := make([]*ddata.Node, len(configs)), make([]error, len(configs))
	var wg sync.WaitGroup
	for i, c := range configs {
		wg.Go(func() {
			n, err := ddata.Start(ctx, c)
			if err != nil {
				errs[i] = fmt.Errorf("node %d of %v: %w", numbers[i], numbers, err)
				cancel() // the others wait for it in vain
				return
			}
			nodes[i] = n
		})
	}
	wg.Wait()
	return nodes, errors.Join(errs...)
}

// kept is the network of one node. Its port is open from before the node knows it: a port that is
// chosen, closed and opened again may be another process's by then.
type kept struct {
	transport.Network
	addr string

	mu sync.Mutex
	l  net.Listener // nil once the node has it
}

func keep(t TB) *kept {
	t.Helper()
	tcp := transport.TCP()
	l, err := tcp.Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatalf("ddatatest: %v", err)
	}
	k := &kept{Network: tcp, addr: l.Addr().String(), l: l}
	t.Cleanup(func() { _ = l.Close() })
	return k
}

// Listen implements transport.Network: the first caller that wants the port gets it as it was kept.
func (k *kept) Listen(ctx context.Context, addr string) (net.Listener, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if l := k.l; l != nil && addr == k.addr {
		k.l = nil
		return l, nil
	}
	return k.Network.Listen(ctx, addr)
}
