package workload

import (
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/proptest/sim/journals"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/trace"
)

// Process is a node, as what runs on it sees it.
type Process interface {
	journals.Holder
	scheduler.Clock
	// Go begins a routine of the process, and Sleep has one wait.
	Go(run func())
	Sleep(d time.Duration)
	Host() host.Host
	// Usable reports whether clients use the process.
	Usable() bool
	// Replica is what the process's replica of the users' data holds of a key, and which events it has.
	Replica(key string) (crdt.Reader, *crdt.Clock)
	// Resumed is when it last stood still no more.
	Resumed() int64
}

// World is where the processes live.
type World interface {
	journals.World
	// Processes are those that run.
	Processes() []Process
	Violate(check, format string, args ...any)
}

// Workload is what users run in a world. It is called by the world alone, one call at a time.
type Workload interface {
	// Start starts the users' types on a process. It is called by a routine of the process.
	Start(p Process)
	// Heal ends the harm that the workload does.
	Heal()
	// Missing says what the healed world still waits for; empty: nothing.
	Missing() string
	// Finish judges what is known in the end only.
	Finish()
}

// Begin makes the workload of a world.
type Begin func(w World, rs random.Streams, t *trace.Trace) Workload
