package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/ddata/config"
	"github.com/coterie-go/coterie/sharding"
)

// Errors of Start and of Process.
var (
	// ErrConfig: Config is incomplete or out of bounds. The message lists every fault.
	ErrConfig = errors.New("daemon: invalid configuration")
	// ErrSuperseded: another Rescale was asked for meanwhile, and its number of workers counts.
	ErrSuperseded = errors.New("daemon: another rescale was asked for")
	// ErrRescaling: the context ended before the rescale had; it goes on.
	ErrRescaling = errors.New("daemon: rescale not completed in time")
)

// Config describes a set of workers. Name, Role and WorkersMax are the same on every node of the
// role, and Count should be. Names and defaults of intervals are the reference's; its
// keep-alive-from-number-of-nodes has no meaning: one node keeps the workers alive, the oldest.
type Config struct {
	// Name is unique in the cluster; 1 to 32 bytes without '/'. Required.
	Name string
	// Role: the nodes on which the workers run. Required, and this node has it.
	Role string
	// Count is the number of workers until the first Rescale; once a number is written, that
	// counts. Required, at most WorkersMax.
	Count int
	// WorkersMax bounds the number of workers; it is the number of shards, and cannot change while
	// the cluster runs. Default 1000.
	WorkersMax int
	// Run is one worker, on a goroutine of its own: it returns soon after ctx ends, which is when
	// the worker moves, is rescaled, or its node has lost its lease or ends. When it returns by
	// itself it is started again with the next keep-alive. Required.
	Run func(ctx context.Context, w Worker) error
	// KeepAliveInterval is the pause between two rounds in which every worker is told to run.
	// Default 10 s.
	KeepAliveInterval time.Duration
	// KeepAliveThrottle is the pause between two workers of a round, so that they do not start all
	// at once. Default 100 ms, negative = none.
	KeepAliveThrottle time.Duration
	// RequestTimeout bounds one read or write of the revision, and one attempt to stop a worker.
	// Default 5 s.
	RequestTimeout time.Duration
	// Adapt, when set, changes the entity type of the workers before it is started: its strategy,
	// time limits, hooks.
	Adapt func(*sharding.EntityType[Command])
}

// Worker says which worker a Run is.
type Worker struct {
	Number   int    // from 0
	Total    int    // of this revision
	Revision uint64 // counts the rescales
}

// WithDefaults returns the config with the default in place of each zero field that has one.
func (c Config) WithDefaults() Config {
	config.Default(&c.WorkersMax, 1000)
	config.Default(&c.KeepAliveInterval, 10*time.Second)
	config.Default(&c.KeepAliveThrottle, 100*time.Millisecond)
	config.Default(&c.RequestTimeout, 5*time.Second)
	return c
}

// Validate reports every fault together.
func (c Config) Validate() error {
	var faults config.Faults
	d := c.WithDefaults()
	faults.Add(d.Name == "" || len(d.Name) > 32, "Name", "has %d bytes, want 1 to 32", len(d.Name))
	faults.Add(d.Role == "", "Role", "is empty")
	faults.Add(d.Run == nil, "Run", "is nil")
	faults.Add(d.WorkersMax < 1 || d.WorkersMax > 10_000, "WorkersMax", "is %d, want 1 to 10,000", d.WorkersMax)
	faults.Add(d.Count < 1 || d.Count > d.WorkersMax, "Count", "is %d, want 1 to WorkersMax %d", d.Count, d.WorkersMax)
	faults.Add(d.KeepAliveInterval < 0, "KeepAliveInterval", "%v is negative", d.KeepAliveInterval)
	faults.Add(d.RequestTimeout < 0, "RequestTimeout", "%v is negative", d.RequestTimeout)
	return faults.Wrap(fmt.Errorf("%w %q", ErrConfig, c.Name))
}
