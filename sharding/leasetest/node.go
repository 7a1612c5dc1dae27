package leasetest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/file"
	"github.com/coterie-go/coterie/sharding"
)

// Settings are those of a process.
type Settings struct {
	Addr   string
	Seeds  []string // all nodes
	Marks  string   // a directory in which the owner of the shard has a lock of this host
	Leases string   // where the store of leases is, as Run was told
}

// Owner is what the shard's one entity says of itself.
type Owner struct {
	Addr  string // of its node
	Alone bool   // no other process has the entity
}

// message is what the entity understands.
type message interface{ message() }

// question asks for the owner.
type question struct {
	sharding.Returns[message, Owner]
}

func (question) message() {}

const (
	role      = "backend"
	entity    = "x"
	ownerCall = "owner" // of a process
)

// Node is a node of the cluster, in a process of its own.
type Node struct {
	addr   string
	mark   locks.Lock
	region *sharding.Region[message]
}

// Start starts a node whose one shard takes its lease from a store, and whose coordinator does too.
// It returns when all nodes are members. The node ends with its process.
func Start(ctx context.Context, s Settings, leases locks.Store) (*Node, error) {
	marks, err := file.Open(s.Marks)
	if err != nil {
		return nil, err
	}
	n := &Node{addr: s.Addr}
	if n.mark, err = marks.Lock(entity, s.Addr); err != nil {
		return nil, err
	}
	node, err := ddata.Start(ctx, ddata.Config{
		Name: "leasetest", Bind: s.Addr, Seeds: s.Seeds, BootstrapExpect: len(s.Seeds), Roles: []string{role},
		Preset: ddata.Local, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return nil, err
	}
	t := sharding.EntityType[message]{
		Identity: sharding.Identity{Name: "Leased", Role: role, Shards: 1},
		Messages: sharding.CBOR[message](question{}),
		New:      func(*sharding.Context[message]) sharding.Entity[message] { return n },
	}
	t.Leases.Shards, t.Leases.Coordinator = leases, leases
	n.region, err = sharding.Start(node, t)
	return n, err
}

// Receive implements sharding.Entity.
func (n *Node) Receive(c *sharding.Context[message], _ message) error {
	alone, err := n.mark.Acquire(context.Background(), nil) // it stays until the process ends
	if err != nil {
		return err
	}
	return c.Reply(Owner{Addr: n.addr, Alone: alone})
}

// askLimit bounds a question: what is lost on its way to a node that was killed is asked again.
const askLimit = time.Second

// Call answers a call of the test.
func (n *Node) Call(ctx context.Context, name string, _ []byte) (any, error) {
	if name != ownerCall {
		return nil, fmt.Errorf("no call %s", name)
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	return sharding.Ask(ctx, n.region.Ref(entity), question{})
}
