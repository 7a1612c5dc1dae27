package batch

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/coterie-go/coterie/ddata/config"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/batch/calls"
)

// Settings say how a store is called; the zero value stands for the defaults.
type Settings = calls.Settings

// Config is what a Client needs.
type Config struct {
	// Name is that of the entity type. Required.
	Name string
	// Journal keeps histories. One value that is several of the stores has one fence. At least one
	// of the three is required; what is asked of one that is nil ends with ErrNoStore.
	Journal persistence.Journal
	// Snapshots keeps snapshots.
	Snapshots persistence.Snapshots
	// States keeps values.
	States persistence.States
	// Settings bound and pace the calls.
	Settings Settings
	// Stopped is closed when the region has stopped: then the client closes. Default: only Close ends
	// it.
	Stopped <-chan struct{}
	// Emit takes events, of any goroutine. Default: none is told.
	Emit func(events.Event)
	// Meter takes the times and sizes of requests and calls; Client.Report has the counts. Default:
	// nothing is measured.
	Meter events.Meter
	// Scheduler is the time of the client, and runs its calls. Default: scheduler.Goroutines.
	Scheduler scheduler.Scheduler
}

func (c Config) withDefaults() Config {
	if c.Emit == nil {
		c.Emit = func(events.Event) {}
	}
	c.Settings = c.Settings.WithDefaults()
	if c.Scheduler == nil {
		c.Scheduler = scheduler.Goroutines{}
	}
	return c
}

// Validate reports every fault together.
func (c Config) Validate() error {
	var f config.Faults
	f.Add(c.Name == "", "Name", "is empty")
	f.Add(c.Journal == nil && c.Snapshots == nil && c.States == nil, "Journal", "there is no store at all")
	f.NilPointer("Journal", c.Journal)
	f.NilPointer("Snapshots", c.Snapshots)
	f.NilPointer("States", c.States)
	f.Of("Settings", c.Settings.Validate())
	return f.Wrap(fmt.Errorf("%w of type %q", ErrConfig, c.Name))
}

// Why something was not done, beside the errors of package persistence.
var (
	// ErrConfig: a Config is incomplete or out of bounds. The message lists every fault.
	ErrConfig = errors.New("persistence: invalid configuration of a client")
	// ErrGaveUp: see calls.ErrGaveUp.
	ErrGaveUp = calls.ErrGaveUp
	// ErrBufferFull: see calls.ErrBufferFull.
	ErrBufferFull = calls.ErrBufferFull
	// ErrEnded: see calls.ErrEnded.
	ErrEnded = calls.ErrEnded
	// ErrClosed: see calls.ErrClosed.
	ErrClosed = calls.ErrClosed
	// ErrNoStore: see calls.ErrNoStore.
	ErrNoStore = calls.ErrNoStore
	// ErrPanicked: the store has panicked, or has ended its goroutine. It is taken as a failure.
	ErrPanicked = errors.New("persistence: the store has panicked")
	// ErrBroken: the client has found one of its own rules broken, or a done has panicked. That is a
	// mistake in this library, or in what calls the client. The log has the state and the stack. If a
	// call was under way, its outcome is unknown.
	ErrBroken = errors.New("persistence: the client is broken; the log says why: report it, and start the node again")
)

// number gives each different store a number, and returns its fence by number, and the number of
// each port: -1 if it has no store.
func (c Config) number() (fences []persistence.Fencer, ports [3]int) {
	for port, f := range [3]persistence.Fencer{c.Journal, c.Snapshots, c.States} {
		ports[port] = -1
		if f == nil {
			continue
		}
		for n, other := range fences {
			if same(f, other) {
				ports[port] = n
			}
		}
		if ports[port] < 0 {
			ports[port] = len(fences)
			fences = append(fences, f)
		}
	}
	return fences, ports
}

// same reports whether two stores are one value. Values that cannot be compared are two stores.
func same(a, b persistence.Fencer) bool {
	return reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}
