package calls

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/ddata/runloop/timer"
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

// traits is what the machine knows about a kind. Each kind has a lane of its own in a hosting.
type traits struct {
	name  string
	port  Port
	many  bool // a call may be about many entities
	write bool // it changes what is stored, and may linger
	after Kind // of a deletion: the writes of the same entity that come first
}

var kinds = [...]traits{
	Append:          {name: "append", port: Journal, many: true, write: true},
	Delete:          {name: "delete", port: Journal, after: Append},
	Load:            {name: "load", port: Journal, many: true},
	SaveSnapshot:    {name: "save snapshot", port: Snapshots, many: true, write: true},
	DeleteSnapshots: {name: "delete snapshots", port: Snapshots, after: SaveSnapshot},
	LoadSnapshot:    {name: "load snapshot", port: Snapshots, many: true},
	SaveState:       {name: "save state", port: States, many: true, write: true},
	LoadState:       {name: "load state", port: States, many: true},
	Fence:           {name: "fence"},
}

// fenceLane is the first of the lanes for Fence, one for each store. A lane before it is that of the
// kind with its number.
const (
	fenceLane = int(Fence)
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
	after *Op   // of a deletion: the write of its entity that has to be done first; nil: none
	frees *lane // of a write: the lane where a deletion waits for it; nil: none

	unknown error // of a change: what its last call with an unknown outcome ended with; nil: there was none
}

// changes reports whether a call of this kind changes what is stored.
func (k Kind) changes() bool { return kinds[k].write || !kinds[k].many }

// failed notes a call whose outcome is unknown.
func (o *Op) failed(err error) {
	o.last = err
	if o.Kind.changes() {
		o.unknown = err
	}
}

// endedBy is why an Op ends with its hosting. What ended the hosting may say that the Op had no
// effect. An earlier call about it may have had one.
func (o *Op) endedBy(why error) error {
	switch {
	case o.unknown == nil:
		return why
	case errors.Is(why, ErrEnded), errors.Is(why, ErrClosed):
		return fmt.Errorf("%w: %w", why, o.unknown)
	}
	return fmt.Errorf("%w: %v; an earlier call may have taken effect: %w", ErrEnded, why, o.unknown)
}

// held reports whether the Op is a deletion that waits for a write.
func (o *Op) held() bool { return o.after != nil && o.after.stage != over }

// asked is when the Op was submitted.
func (o *Op) asked(s *Settings) time.Time { return o.until.Add(-s.GiveUpAfter) }

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
	until time.Time // when the next of its Ops is given up; zero: all are done
	slow  bool      // it was reported
	hangs bool      // it was reported
}

// wait notes when the next Op of the call is given up.
func (c *Call) wait() {
	var next timer.Next
	for _, o := range c.Ops {
		if o.stage == called {
			next.DueAt(o.until)
		}
	}
	c.until = next.Due
}

func (c *Call) String() string {
	s := fmt.Sprintf("%v shard %d of %v", c.Kind, c.Hosting.Shard, c.Hosting.Token)
	for i, o := range c.Ops {
		s += fmt.Sprintf("%s %s %v", map[bool]string{true: ":", false: ","}[i == 0], string(o.Entity), o.Value)
	}
	return s
}
