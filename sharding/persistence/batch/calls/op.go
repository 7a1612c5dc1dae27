package calls

import (
	"cmp"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Hosting is one stay of a shard on this node.
type Hosting struct {
	Shard protocol.ShardID
	Token singleton.FencingToken
}

func (h Hosting) compare(o Hosting) int {
	return cmp.Or(cmp.Compare(h.Shard, o.Shard), h.Token.Compare(o.Token))
}

// Port is an interface of a store.
type Port uint8

// The ports.
const (
	Journal Port = iota
	Snapshots
	States
	ports
)

var portNames = [...]string{"journal", "snapshots", "states"}

// String returns the port's name.
func (p Port) String() string { return portNames[p] }

// Kind is what a call does.
type Kind uint8

// The kinds of calls.
const (
	Append Kind = iota
	Delete
	Load
	SaveSnapshot
	DeleteSnapshots
	LoadSnapshot
	SaveState
	LoadState
	Fence // of the store that all ports of a lane have
)

// traits is what the machine knows about a kind.
type traits struct {
	name string
	port Port
	lane int  // calls of one lane of a hosting never overlap
	many bool // a call may be about many entities
	// write: it changes what is stored, and may linger.
	write bool
}

var kinds = [...]traits{
	Append:          {"append", Journal, 0, true, true},
	Delete:          {"delete", Journal, 0, false, false},
	Load:            {"load", Journal, 1, true, false},
	SaveSnapshot:    {"save snapshot", Snapshots, 2, true, true},
	DeleteSnapshots: {"delete snapshots", Snapshots, 2, false, false},
	LoadSnapshot:    {"load snapshot", Snapshots, 3, true, false},
	SaveState:       {"save state", States, 4, true, true},
	LoadState:       {"load state", States, 5, true, false},
	Fence:           {name: "fence"},
}

// fenceLane is the first of the lanes for Fence, one for each store.
const (
	fenceLane = 6
	lanes     = fenceLane + int(ports)
)

// String returns the kind's name.
func (k Kind) String() string { return kinds[k].name }

// Port returns the port that a call of this kind needs; Fence has none of its own.
func (k Kind) Port() Port { return kinds[k].port }

// Op is one thing that is asked of a store. It is the machine's until it is done.
type Op struct {
	Hosting Hosting
	Kind    Kind // not Fence
	Entity  protocol.EntityID
	Bytes   int // about what it carries
	Events  int // of an Append
	Value   any // the caller's own

	until time.Time // when it is given up
	last  error     // of its last call that failed
	alone bool      // no other Op shares its call
	stage stage
}

// stage is where an Op is.
type stage uint8

const (
	outside stage = iota // not yet here
	waiting              // in its lane
	called               // in a call
	over                 // done
)

func (o *Op) String() string { return fmt.Sprintf("%v %s %v", o.Kind, string(o.Entity), o.Value) }

// Call is one call of a store. A caller reads its exported fields and changes nothing.
type Call struct {
	Hosting Hosting
	Kind    Kind
	Store   int // the number of the store, see New
	Ops     []*Op

	lane  *lane
	began time.Time
	slow  bool // it was reported
	hangs bool // it was reported
}

func (c *Call) String() string {
	s := fmt.Sprintf("%v shard %d of %v", c.Kind, c.Hosting.Shard, c.Hosting.Token)
	for i, o := range c.Ops {
		s += fmt.Sprintf("%s %s %v", map[bool]string{true: ":", false: ","}[i == 0], string(o.Entity), o.Value)
	}
	return s
}
