package ledger

import (
	"errors"
	"log/slog"

	"github.com/coterie-go/coterie/ddata/config"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/history"
)

// ErrConfig is that of New.
var ErrConfig = errors.New("ledger: the config is not allowed")

// Config says where a Ledger keeps its histories.
type Config struct {
	// Type is the name of the entity type. Required.
	Type string
	// Journal keeps the events. Required.
	Journal persistence.Journal
	// Snapshots keeps snapshots. Without it histories are never cut, and a new coordinator reads all
	// of them. Optional.
	Snapshots persistence.Snapshots
	// SnapshotAfter is the number of events after which the next snapshot is made. Default 1,000.
	SnapshotAfter int
	// KeepSnapshots is the number of snapshots that are kept, with the events after the oldest.
	// Default 2: the events are there from which a damaged newest one can be made good.
	KeepSnapshots int
	// Logger hears of snapshots that fail or are damaged. Default slog.Default().
	Logger *slog.Logger
}

// histories are the settings of the histories.
func (c Config) histories() history.Config {
	return history.Config{
		What: "coordinator's state of " + c.Type, Journal: c.Journal, Snapshots: c.Snapshots,
		SnapshotAfter: c.SnapshotAfter, KeepSnapshots: c.KeepSnapshots, Logger: c.Logger,
	}.WithDefaults()
}

// faults lists what is wrong.
func (c Config) faults() config.Faults {
	var f config.Faults
	f.Add(c.Type == "", "Type", "is required: the name of the entity type")
	f.Add(len(TypeName(c.Type)) > persistence.NameMax, "Type", "is too long for the journal")
	c.histories().Check(&f)
	return f
}

// TypePrefix begins the name of each type in a Journal that has the state of a coordinator. The name
// of an entity type has no slash, so that none can begin so.
const TypePrefix = "coterie/coordinator/"

// TypeName is the name under which a Journal has the histories of an entity type.
func TypeName(entityType string) string { return TypePrefix + entityType }
