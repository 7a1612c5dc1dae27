package shardingtest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/host/hosttest"
)

// TB is what the kit needs of a test: *testing.T, *testing.B, *testing.F and *rapid.T have it.
type TB = ddatatest.TB

// Node is what entities under test run on: the only member of a cluster, in memory, with a clock of its
// own. Methods that let something happen are for the goroutine of the test; the others may be called by
// handlers, too.
type Node struct {
	t     TB
	time  driver
	host  *hosttest.Node
	begun time.Time
	types []func() error // start a type on the host
	busy  atomic.Bool    // the test has called what lets something happen
	over  atomic.Bool    // the test has ended

	mu    sync.Mutex
	story []string
}

// NewNode starts a node with roles. It ends with the test. If that has failed, the log of the test tells
// what has happened.
func NewNode(t TB, roles ...string) *Node {
	t.Helper()
	n := &Node{t: t, time: newDriver(t)}
	n.begun = n.time.Now()
	n.found(hosttest.Config{Roles: roles})
	t.Cleanup(func() {
		n.over.Store(true)
		n.run(func() { n.time.end(n.host.End) })
		if t.Failed() {
			t.Logf("what happened:\n%s", n.Story())
		}
	})
	return n
}

// found starts the host.
func (n *Node) found(c hosttest.Config) {
	c.Scheduler = n.time
	c.Broken = func(text string) {
		if !n.over.Load() { // its routines are unwound
			n.t.Errorf("shardingtest: a machine has panicked: %s", text)
		}
	}
	n.host = hosttest.NewNode(c)
}

// start starts a type, now and after each Restart.
func (n *Node) start(typ func() error) {
	n.t.Helper()
	n.types = append(n.types, typ)
	n.run(func() {
		n.t.Helper()
		n.startOnce(typ)
	})
}

func (n *Node) startOnce(typ func() error) {
	n.t.Helper()
	var err error
	n.time.do(func() { err = typ() })
	if err != nil {
		n.t.Fatalf("shardingtest: %v", err)
	}
}

// run calls what lets something happen. Handlers must not: they would wait for themselves.
func (n *Node) run(fn func()) {
	n.t.Helper()
	if !n.busy.CompareAndSwap(false, true) {
		panic("shardingtest: a handler, or another goroutine than that of the test, has called what lets something " +
			"happen: use the Context, and sharding.Ask")
	}
	defer n.busy.Store(false)
	fn()
}

// Now is the time of the node. In a bubble it is that of the bubble, and so time.Now.
func (n *Node) Now() time.Time { return n.time.Now() }

// Advance lets time pass. What is due happens: messages of Context.After, receive timeouts, reminders,
// restarts after a backoff, passivations. It takes no real time worth the name.
func (n *Node) Advance(d time.Duration) {
	n.t.Helper()
	if d < 0 {
		n.t.Fatalf("shardingtest: Advance by %v: time does not go back", d)
	}
	n.run(func() { n.time.pass(d) })
}

// Do calls fn, which may wait for entities: for calls of a Region that a Kit does not have. Time passes
// while nothing else can happen.
func (n *Node) Do(fn func()) {
	n.t.Helper()
	n.run(func() {
		n.t.Helper()
		n.time.do(fn)
	})
}

// LoseLease takes the lease from the node: no handler begins, effects of one that runs are
// sharding.ErrNoLease, and its Context ends. A handler may call it, to lose the lease at that point.
// An entity that waits for the lease looks for it a hundred times a second: then an hour of Advance takes
// about a third of a second.
func (n *Node) LoseLease() { n.holdLease(false) }

// RegainLease gives the lease back. What waits is handled.
func (n *Node) RegainLease() { n.holdLease(true) }

func (n *Node) holdLease(held bool) {
	n.note("", "the lease: held %t", held)
	n.host.HoldLease(held)
	if n.busy.CompareAndSwap(false, true) {
		defer n.busy.Store(false)
		n.time.settle()
	}
}

// Restart ends the node as a crash does, and starts it again, with its types, as another member. What
// was in memory is gone. What is stored is there: reminders, ids of remembered entities, and what stores
// of the types hold. Fencing tokens are higher from now on. Regions of the Node's types are others, too.
func (n *Node) Restart() {
	n.t.Helper()
	n.note("", "the node crashes, and starts again")
	n.run(func() {
		n.t.Helper()
		n.time.do(n.host.End)
		n.found(hosttest.Config{Roles: n.host.Host().Self.Roles, Data: n.host.Data(), Before: n.host})
		for _, typ := range n.types {
			n.startOnce(typ)
		}
	})
}

// Story tells what has happened, with the time since the node was started.
func (n *Node) Story() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.story, "\n")
}

// note adds a line to the story. what is an entity or a type.
func (n *Node) note(what, format string, args ...any) {
	line := fmt.Sprintf("%10v ", n.time.Since(n.begun).Round(time.Millisecond))
	if what != "" {
		line += what + " "
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.story = append(n.story, line+fmt.Sprintf(format, args...)); len(n.story) > storyMax {
		n.story = append(n.story[:1], n.story[len(n.story)-storyMax/2:]...)
	}
}

// shown is a message, without the field that says what a request is answered with.
func shown(msg any) string {
	return strings.NewReplacer("{Returns:{}}", "{}", "Returns:{} ", "").Replace(fmt.Sprintf("%T%+v", msg, msg))
}

// storyMax is how many lines a story has.
const storyMax = 2000

// errRole: the node has not the role of a type.
var errRole = errors.New("shardingtest: the node does not have the role of the type: give it to NewNode")
