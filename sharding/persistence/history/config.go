package history

import (
	"log/slog"

	"github.com/coterie-go/coterie/ddata/config"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/persistence"
)

// Config says where histories are kept.
type Config struct {
	// What names the histories in errors and in the log, such as "remembered ids of Cart". Required.
	What string
	// Journal keeps the events. Required.
	Journal persistence.Journal
	// Snapshots keeps snapshots. Without it histories are never cut, and a read reads all of them.
	// Optional.
	Snapshots persistence.Snapshots
	// SnapshotAfter is the number of events after which the next snapshot is made. Default 1,000.
	SnapshotAfter int
	// KeepSnapshots is the number of snapshots that are kept, with the events after the oldest.
	// Default 2.
	KeepSnapshots int
	// Logger hears of snapshots that fail or are damaged. Default slog.Default().
	Logger *slog.Logger
	// Scheduler waits, and has the time and random numbers. Default scheduler.Goroutines{}.
	Scheduler scheduler.Scheduler
}

// WithDefaults is c with the default in place of each zero field that has one.
func (c Config) WithDefaults() Config {
	config.Default(&c.SnapshotAfter, 1000)
	config.Default(&c.KeepSnapshots, 2)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Scheduler == nil {
		c.Scheduler = scheduler.Goroutines{}
	}
	return c
}

// Check adds what is wrong with a config that has its defaults.
func (c Config) Check(f *config.Faults) {
	f.Add(c.Journal == nil, "Journal", "is required")
	f.NilPointer("Journal", c.Journal)
	f.NilPointer("Snapshots", c.Snapshots)
	f.Add(c.SnapshotAfter < 1, "SnapshotAfter", "is %d, and must be at least 1", c.SnapshotAfter)
	f.Add(c.KeepSnapshots < 1, "KeepSnapshots", "is %d, and must be at least 1", c.KeepSnapshots)
}
