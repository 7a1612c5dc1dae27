package ddata

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/ddata/shutdown"
)

// SingletonState is how far a Singleton of this node is; it prints itself.
type SingletonState = singleton.State

// FencingToken belongs to one run of a singleton: each has a higher one than all before it, on
// whatever node. See singleton.FencingToken for its order, and for what happens to it when a cluster
// is founded without the directories of the former one.
type FencingToken = singleton.FencingToken

// SingletonConfig says what is to run on one node at a time. All nodes of the role run a Singleton
// of that name.
type SingletonConfig struct {
	// Name of the singleton, 1 to 64 bytes, unlike that of any other in the cluster. Required.
	Name string
	// Role, of those of this node: the singleton runs on the oldest node that has it. Default: the
	// first of Config.Roles.
	Role string
	// Run is the singleton. It is called on the oldest node, under its lease, and returns soon
	// after ctx ends: when the node has lost its lease, leaves, or ends. Until it has returned no
	// other node starts it while the node leaves, and Leave waits. It cannot be killed: one that
	// goes on without the lease must not do anything outside. So Run asks Node.HoldsLease before
	// what matters, or sends token along to a store that refuses a lower one: each later run has a
	// higher one. When it returns by itself it is started again after RestartAfter. Required.
	Run func(ctx context.Context, token FencingToken) error
	// RestartAfter is the time from the end of Run, with an error or without, until it is called
	// again. Default: 1 s, with Preset Local 100 ms.
	RestartAfter time.Duration
}

// Singleton is this node's part in running something once in the cluster. Node.RunSingleton makes
// one; it ends with the node.
//
//	standby ──oldest of the role, lease──► running ──lease lost, Leave──► stopping ──Run returns──► standby, handed over
//	   └──the older ones leave──► asking ──► in progress elsewhere ──► running
type Singleton struct {
	n         *Node
	cfg       SingletonConfig
	m         *singleton.Machine
	loop      *runloop.Loop[singletonInput]
	admission *runloop.Admission
	state     atomic.Uint32
	cancel    context.CancelCauseFunc // of the last Run's context; of the loop's goroutine
	handed    chan struct{}           // closed when it was handed over
}

// singletonInput is one input of the machine.
type singletonInput struct {
	in   singleton.Input
	from runloop.Permit // of another node's word
}

// RunSingleton has cfg.Run run on the oldest node of a role and nowhere else: at no instant on two
// nodes that hold their leases. After a crash it starts on the next in age with the view without
// the dead node; a node that leaves hands over as soon as Run has returned.
//
// Errors: a faulty cfg, ErrUnknownRole, a name that is in use on this node, why the node has ended.
func (n *Node) RunSingleton(cfg SingletonConfig) (*Singleton, error) {
	if cfg.Role == "" {
		cfg.Role = n.cfg.Roles[0]
	}
	if cfg.RestartAfter == 0 {
		cfg.RestartAfter = time.Second
		if n.cfg.Preset == Local {
			cfg.RestartAfter = 100 * time.Millisecond
		}
	}
	err := cfg.check(n.cfg.Roles)
	if err == nil {
		err = n.life.why()
	}
	if err != nil {
		return nil, fmt.Errorf("ddata: singleton %q: %w", cfg.Name, err)
	}
	s := &Singleton{n: n, cfg: cfg, admission: newAdmission(n), handed: make(chan struct{})}
	s.m = singleton.New(singleton.Config{
		Self: n.uid, Role: cfg.Role, RestartAfter: cfg.RestartAfter,
		AskAgain: n.members.d.Machine().HeartbeatInterval(),
	})
	s.loop = runloop.New(scheduler.Goroutines{}, singletonDriver{s}, inboxMax)
	s.loop.WhenBroken(func(b runloop.Broken) { n.broken("singleton "+cfg.Name, b, s) })
	if err := n.singletons.add(s); err != nil {
		return nil, fmt.Errorf("ddata: singleton %q: %w", cfg.Name, err)
	}
	s.loop.Start()
	n.OnShutdown(shutdown.ClusterExiting, "singleton "+cfg.Name, s.handOver)
	n.watch(host.Watcher{
		View: func(v *view.View) {
			s.post(singleton.LeaseChanged{Held: n.HoldsLease()})
			s.post(singleton.ViewChanged{View: v})
		},
		Lease: func(held bool) { s.post(singleton.LeaseChanged{Held: held}) },
		End:   s.end,
	})
	return s, nil
}

// check finds what is wrong with the config on a node of these roles.
func (cfg SingletonConfig) check(roles []string) error {
	if err := checkName(cfg.Name); err != nil {
		return fmt.Errorf("SingletonConfig.Name: %w", err)
	}
	switch {
	case !slices.Contains(roles, cfg.Role):
		return fmt.Errorf("%w %q", ErrUnknownRole, cfg.Role)
	case cfg.Run == nil:
		return errors.New("SingletonConfig.Run is nil")
	case cfg.RestartAfter < 0:
		return errors.New("SingletonConfig.RestartAfter is negative")
	}
	return nil
}

// singletons are those of a node. The zero value has none.
type singletons struct {
	mu     sync.Mutex
	byName map[string]*Singleton
}

func (ss *singletons) add(s *Singleton) error {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.byName[s.cfg.Name] != nil {
		return errors.New("a singleton of that name runs on this node already")
	}
	if ss.byName == nil {
		ss.byName = map[string]*Singleton{}
	}
	ss.byName[s.cfg.Name] = s
	return nil
}

// find returns the one of a name, nil if there is none.
func (ss *singletons) find(name string) *Singleton {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return ss.byName[name]
}

func (ss *singletons) all() []*Singleton {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return slices.Collect(maps.Values(ss.byName))
}

// State is how far it is on this node.
func (s *Singleton) State() SingletonState { return SingletonState(s.state.Load()) }

// String prints name, role and state.
func (s *Singleton) String() string {
	return fmt.Sprintf("singleton %q of %s: %v", s.cfg.Name, s.cfg.Role, s.State())
}

func (s *Singleton) post(in singleton.Input) { s.loop.Force(singletonInput{in: in}) }

// singletonDriver drives the machine of a Singleton.
type singletonDriver struct{ *Singleton }

// Step implements runloop.Machine.
func (s singletonDriver) Step(now time.Time, q singletonInput) {
	q.from.Release()
	fx := s.m.Step(now, q.in)
	for _, e := range fx.Send {
		s.sendWord(e)
	}
	if fx.Stop && s.cancel != nil {
		s.cancel(s.cause())
	}
	if fx.State != nil {
		s.tellState(*fx.State)
	}
	if fx.Start {
		s.begin(fx.Token)
	}
}

// Flush implements runloop.Machine.
func (s singletonDriver) Flush() {}

// Deadline implements runloop.Machine.
func (s singletonDriver) Deadline() time.Time { return s.m.Deadline() }

// Tick implements runloop.Machine.
func (s singletonDriver) Tick() singletonInput { return singletonInput{in: singleton.Tick{}} }

func (s *Singleton) tellState(state SingletonState) {
	s.state.Store(uint32(state))
	s.n.reports.emit(events.SingletonChanged{Name: s.cfg.Name, Role: s.cfg.Role, State: state})
	if state == singleton.HandedOver {
		close(s.handed)
	}
}

// begin calls Run, if the lease holds at this moment.
func (s *Singleton) begin(token FencingToken) {
	ctx, cancel := context.WithCancelCause(context.Background())
	s.cancel = cancel
	go func() {
		defer s.post(singleton.Exited{})
		defer cancel(nil)
		if !s.n.HoldsLease() {
			return
		}
		if err := s.cfg.Run(ctx, token); err != nil && ctx.Err() == nil {
			s.n.reports.emit(events.SingletonFailed{
				Name: s.cfg.Name, Role: s.cfg.Role, Err: err, Again: s.cfg.RestartAfter,
			})
		}
	}()
}

// cause is why Run has to return.
func (s *Singleton) cause() error {
	if err := s.n.life.why(); err != nil {
		return err
	}
	if !s.n.HoldsLease() {
		return ErrNoLease
	}
	return ErrLeft
}

// handOver is the task of the phase cluster-exiting.
func (s *Singleton) handOver(ctx context.Context) error {
	s.post(singleton.Leave{})
	select {
	case <-s.handed:
		return nil
	case <-s.loop.Stopped():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("singleton %q does not stop: %w", s.cfg.Name, ctx.Err())
	}
}

// singletonEndTimeout is how long the end of a node waits for Run to return.
const singletonEndTimeout = time.Second

// end stops it with the node.
func (s *Singleton) end(error) {
	s.post(singleton.ViewChanged{})
	s.post(singleton.Leave{})
	select {
	case <-s.handed:
	case <-time.After(singletonEndTimeout):
		s.n.reports.emit(events.SingletonOutlived{Name: s.cfg.Name, Role: s.cfg.Role})
	}
	s.loop.Stop()
}
