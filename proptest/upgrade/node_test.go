package upgrade

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/proptest/nodetest"
	"github.com/coterie-go/coterie/sharding"
)

// What the test and its processes say to each other must stay as it is, for the processes are of two
// builds: a later build may add fields and calls, and change none.

// program is what the processes run.
const program = "node"

// The calls of a process.
const (
	callAdd   = "add"   // an Addition: the node adds to replicated data
	callTell  = "tell"  // an Addition: an entity does
	callRead  = "read"  // the name of a set: its elements, by a majority
	callLevel = "level" // the format level of the view
	callLeave = "leave" // gracefully
)

// Settings are those of a process.
type Settings struct {
	Addr      string
	Seeds     []string // all nodes
	Dir       string
	FormatMax format.Level
}

// Addition adds an element to a set.
type Addition struct{ Set, Element string }

// role is that of all nodes.
const role = "backend"

// Request is what an entity understands: it adds an element to the set of its name.
type Request struct {
	sharding.Returns[message, bool]
	Element string
}

type message interface{ message() }

func (Request) message() {}

// node is a node of the cluster, in a process of its own.
type node struct {
	node   *ddata.Node
	data   *ddata.Replicator
	region *sharding.Region[message]
}

// start starts a node. It ends with its process.
func start(ctx context.Context, setup []byte) (nodetest.Node, error) {
	var s Settings
	if err := json.Unmarshal(setup, &s); err != nil {
		return nil, err
	}
	n := &node{}
	var err error
	n.node, err = ddata.Start(ctx, ddata.Config{
		Name: "upgrade", Bind: s.Addr, Seeds: s.Seeds, BootstrapExpect: len(s.Seeds), Roles: []string{role}, Dir: s.Dir,
		DurableKeys: []string{"durable/*"}, Preset: ddata.Local, FormatMax: s.FormatMax,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return nil, err
	}
	if n.data, err = n.node.Replicator(role); err != nil {
		return nil, err
	}
	n.region, err = sharding.Start(n.node, sharding.EntityType[message]{
		Identity: sharding.Identity{Name: "Adder", Role: role, Shards: 12},
		Messages: sharding.CBOR[message](Request{}),
		New:      func(*sharding.Context[message]) sharding.Entity[message] { return adder{n.data} },
	})
	return n, err
}

// adder is an entity.
type adder struct{ data *ddata.Replicator }

// Receive implements sharding.Entity. It answers when a majority has the element.
func (a adder) Receive(c *sharding.Context[message], msg message) error {
	if err := add(c, a.data, Addition{c.ID(), msg.(Request).Element}); err != nil {
		return err
	}
	return c.Reply(true)
}

func keyOf(set string) ddata.Key[crdt.ORSet[string]] { return ddata.NewKey[crdt.ORSet[string]](set) }

func add(ctx context.Context, data *ddata.Replicator, a Addition) error {
	return ddata.Update(ctx, data, keyOf(a.Set), ddata.WriteMajority, func(tx *crdt.ORSetTx[string]) error {
		return tx.Add(a.Element)
	})
}

// Call answers a call of the test.
func (n *node) Call(ctx context.Context, name string, in []byte) (any, error) {
	var a Addition
	if name == callAdd || name == callTell {
		if err := json.Unmarshal(in, &a); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	switch name {
	case callAdd:
		return nil, add(ctx, n.data, a)
	case callTell:
		return sharding.Ask(ctx, n.region.Ref(a.Set), Request{Element: a.Element})
	case callRead:
		var set string
		if err := json.Unmarshal(in, &set); err != nil {
			return nil, err
		}
		v, err := ddata.Get(ctx, n.data, keyOf(set), ddata.ReadMajority)
		return slices.Sorted(v.All()), err
	case callLevel:
		return n.node.View().Format, nil
	case callLeave:
		return nil, n.node.Leave(ctx)
	}
	return nil, fmt.Errorf("no call %s", name)
}
