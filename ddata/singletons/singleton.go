package singletons

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/config"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/ddata/runloop"
)

// State is how far a Singleton of this node is; it prints itself.
type State = singleton.State

// FencingToken belongs to one run of a singleton: each has a higher one than all before it, on
// whatever node. See singleton.FencingToken for its order, and for what happens to it when a cluster
// is founded without the directories of the former one.
type FencingToken = singleton.FencingToken

// Config says what is to run on one node at a time. All nodes of the role run a Singleton of that
// name.
type Config struct {
	// Name of the singleton, 1 to 64 bytes, unlike that of any other in the cluster. Required.
	Name string
	// Role, of those of this node: the singleton runs on the oldest node that has it. Default: the
	// first of the node's.
	Role string
	// Run is the singleton. It is called on the oldest node, under its lease, and returns soon
	// after ctx ends: when the node has lost its lease, leaves, or ends. Until it has returned no
	// other node starts it while the node leaves, and ddata.Node.Leave waits. It cannot be killed: one
	// that goes on without the lease must not do anything outside. So Run asks ddata.Node.HoldsLease
	// before what matters, or sends token along to a store that refuses a lower one: each later run has a
	// higher one. When it returns by itself it is started again after RestartAfter. Required.
	Run func(ctx context.Context, token FencingToken) error
	// RestartAfter is the time from the end of Run, with an error or without, until it is called
	// again. Default: 1 s, with the preset ddata.Local 100 ms.
	RestartAfter time.Duration
}

// withDefaults is the config on a node.
func (cfg Config) withDefaults(self host.Self) Config {
	if cfg.Role == "" && len(self.Roles) > 0 {
		cfg.Role = self.Roles[0]
	}
	restart := time.Second
	if self.Local {
		restart = 100 * time.Millisecond
	}
	config.Default(&cfg.RestartAfter, restart)
	return cfg
}

// check finds what is wrong with the config on a node of these roles.
func (cfg Config) check(roles []string) error {
	if err := config.CheckName(cfg.Name); err != nil {
		return fmt.Errorf("Config.Name: %w", err)
	}
	switch {
	case !slices.Contains(roles, cfg.Role):
		return fmt.Errorf("%w %q", host.ErrUnknownRole, cfg.Role)
	case cfg.Run == nil:
		return errors.New("Config.Run is nil")
	case cfg.RestartAfter < 0:
		return errors.New("Config.RestartAfter is negative")
	}
	return nil
}

// Singleton is this node's part in running something once in the cluster. It ends with the node.
//
//	standby ──oldest of the role, lease──► running ──lease lost, Leave──► stopping ──Run returns──► standby, handed over
//	   └──the older ones leave──► asking ──► in progress elsewhere ──► running
type Singleton struct {
	h         host.Host
	cfg       Config
	m         *singleton.Machine
	loop      runloop.Loop[input]
	admission *runloop.Admission
	state     atomic.Uint32
	cancel    context.CancelCauseFunc // of the last Run's context; of the loop's goroutine
	handed    chan struct{}           // closed when it was handed over
}

// inboxMax bounds what may wait in front of the machine.
const inboxMax = 64 << 10

// newSingleton makes one that does not run. admission bounds what other nodes have waiting for it.
func newSingleton(h host.Host, cfg Config, admission *runloop.Admission) *Singleton {
	s := &Singleton{h: h, cfg: cfg, admission: admission, handed: make(chan struct{})}
	s.m = singleton.New(singleton.Config{
		Self: h.Cluster.UID(), Role: cfg.Role, RestartAfter: cfg.RestartAfter, AskAgain: h.Self.Heartbeat,
	})
	s.loop = runloop.New(h.Scheduler, driver{s}, inboxMax)
	s.loop.WhenBroken(func(b runloop.Broken) { h.Lifecycle.Broken("singleton "+cfg.Name, b, s) })
	return s
}

// Name is Config.Name.
func (s *Singleton) Name() string { return s.cfg.Name }

// Role is the role on whose oldest node it runs.
func (s *Singleton) Role() string { return s.cfg.Role }

// State is how far it is on this node.
func (s *Singleton) State() State { return State(s.state.Load()) }

// String prints name, role and state.
func (s *Singleton) String() string {
	return fmt.Sprintf("singleton %q of %s: %v", s.cfg.Name, s.cfg.Role, s.State())
}

func (s *Singleton) post(in singleton.Input) { s.loop.Force(input{in: in}) }
