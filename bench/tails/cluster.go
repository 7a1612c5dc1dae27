package tails

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/coterie-go/coterie/bench/child"
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/proptest/ports"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/allocation"
)

const (
	role   = "bench"
	shards = 99
	sets   = 10 // over which the elements are spread
	batch  = 1000
	// logMax is so little that a node which was away for a moment is repaired.
	logMax = 1000
	// starved is how long a guest may have no processor, for which others go before it, and stay a member.
	starved = 30 * time.Second
)

// cluster is three nodes of this process that serve, and two of processes of their own: one that is restarted,
// and one that joins and leaves. Each has a directory.
type cluster struct {
	addrs []string
	nodes []*ddata.Node
	comes [2]*child.Process // guests
}

const (
	serving   = 3
	restarted = 0 // of comes
	visiting  = 1
)

// startCluster has other processes go before guests if they are lowest.
func startCluster(ctx context.Context, dir string, lowest bool) (c *cluster, err error) {
	c = &cluster{nodes: make([]*ddata.Node, serving)}
	if c.addrs, err = ports.Free(serving + len(c.comes)); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	errs := make(chan error, serving)
	for i := range serving {
		go func() {
			var err error
			c.nodes[i], err = startNode(ctx, filepath.Join(dir, strconv.Itoa(i)), i, c.addrs)
			errs <- err
		}()
	}
	for range serving {
		err = errors.Join(err, <-errs)
	}
	for i := range c.comes {
		if err == nil {
			at := serving + i
			own := filepath.Join(dir, strconv.Itoa(at))
			c.comes[i], err = child.Start(ctx, "tails", lowest, own, at, strings.Join(c.addrs, " "))
		}
	}
	if err == nil {
		_, err = c.guest(restarted, "start")
	}
	return c, err
}

// startNode starts the i-th node.
func startNode(ctx context.Context, dir string, i int, addrs []string) (*ddata.Node, error) {
	return ddata.Start(ctx, ddata.Config{
		Name: "bench", Bind: addrs[i], Seeds: addrs[:serving], BootstrapExpect: serving, Roles: []string{role},
		Preset: ddata.Local, Dir: dir, DurableKeys: []string{"kept/*"},
		Timing:      membership.Timing{UnreachableAfter: starved, SelfDownAfter: starved},
		Replication: settings.Config{LogMax: logMax},
		Logger:      slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
}

// home is the address at which the n-th shard begins.
func (c *cluster) home(n int) string { return c.addrs[n%serving] }

// guest has a process do something, and returns a number that it says.
func (c *cluster) guest(i int, do string) (n int, err error) {
	said, err := c.comes[i].Ask(do)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", do, err)
	}
	if n, err = strconv.Atoi(said); err != nil {
		return 0, fmt.Errorf("%s: the process says %q", do, said)
	}
	return n, nil
}

func (c *cluster) close() {
	for _, p := range c.comes {
		if p != nil {
			p.End()
		}
	}
	for _, n := range c.nodes {
		if n != nil {
			_ = n.Close()
		}
	}
}

// fill adds as many elements to sets, half of them durable.
func (c *cluster) fill(ctx context.Context, size int) error {
	r, err := c.nodes[0].Replicator(role)
	if err != nil {
		return err
	}
	for from := 0; from < size; from += batch {
		name := fmt.Sprintf("set/%d", from/batch%sets)
		if from/batch%2 == 0 {
			name = "kept/" + name
		}
		err := ddata.Update(ctx, r, ddata.NewKey[crdt.ORSet[string]](name), ddata.WriteAll,
			func(s *crdt.ORSetTx[string]) (err error) {
				for i := from; i < min(size, from+batch) && err == nil; i++ {
					err = s.Add(fmt.Sprintf("element-%09d", i))
				}
				return err
			})
		if err != nil {
			return err
		}
	}
	return nil
}

type message interface{ message() }

// question is answered with its number.
type question struct {
	sharding.Returns[message, uint64]
	N uint64
}

func (question) message() {}

// answerer is an entity.
type answerer struct{}

// Receive implements sharding.Entity.
func (answerer) Receive(c *sharding.Context[message], m message) error {
	return c.Reply(m.(question).N)
}

// regions starts the entities on the nodes that serve.
func (c *cluster) regions() ([]*sharding.Region[message], error) {
	all := make([]*sharding.Region[message], serving)
	for i := range all {
		var err error
		if all[i], err = sharding.Start(c.nodes[i], sharding.EntityType[message]{
			Identity:   sharding.Identity{Name: "Answerer", Role: role, Shards: shards},
			Allocation: sharding.Allocation{Strategy: allocation.External{}},
			Rebalance:  sharding.Rebalance{Joining: true}, // some node nearly always is
			Messages:   sharding.CBOR[message](question{}),
			New:        func(*sharding.Context[message]) sharding.Entity[message] { return answerer{} },
		}); err != nil {
			return nil, err
		}
	}
	return all, nil
}
