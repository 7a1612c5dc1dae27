package projection

import (
	"fmt"
	"strings"
	"time"

	"github.com/coterie-go/coterie/ddata/config"
	"github.com/coterie-go/coterie/sharding/daemon"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
)

// Config describes a projection of events E. All nodes of the role start it with the same values.
type Config[E any] struct {
	// Name is unique in the cluster, and names the offsets; 1 to 30 bytes without '/'. Required.
	Name string
	// Role: the nodes on which the workers run. Required, and this node has it.
	Role string
	// Type is the entity type whose events are read. Required.
	Type string
	// Tag, when set, selects the events that have it (eventsourced.Behavior.Tags). Another tag needs
	// another Name, or a Reset.
	Tag string
	// Reader reads the events: the store of their journal. Required.
	Reader persistence.Reader
	// Events lists the types of events, as the entity type does. Required.
	Events schema.Schema[E]
	// Target is where the events go: AtLeastOnce, or that of package readmodel. Required.
	Target Target[E]

	// Parts is the number of parts, which have an offset each. It is the highest number of workers,
	// and of handlers that run at one time. The reader makes a query for each. It cannot change: see
	// ErrParts. Default 16, at most persistence.SliceCount.
	Parts int
	// Workers is the number of workers until the first Rescale. More spread over more nodes. Default 4,
	// or Parts if that is less; at most Parts.
	Workers int
	// BatchMax is how many events are handed over together, at most. What a transaction commits at
	// once is such a batch. More save commits, and are more to do again after a failure. Events that
	// have been read wait for no others. Default 100.
	BatchMax int
	// BatchBytes bounds the events of a part that are read ahead, by the size of their stored form. A
	// larger event is read alone. Default 4 MiB.
	BatchBytes int
	// HandleTimeout bounds the handler's work for one event: its context ends then. Default 10 s,
	// negative = none.
	HandleTimeout time.Duration
	// StoreTimeout bounds one call of the Target's Offsets. Default 5 s.
	StoreTimeout time.Duration
	// SaveEvery is after how many events the offset is saved, if the Target does not do so itself.
	// More cost less, and are more to handle again. Default 100.
	SaveEvery int
	// SaveInterval is how long an event that was handled stays unsaved, at most. Default 1 s.
	SaveInterval time.Duration
	// LookInterval is how long a worker takes to notice a Pause, a Reset or another claim while there
	// are no events, and a paused part to notice a Resume. Default 1 s.
	LookInterval time.Duration
	// BackoffMin and BackoffMax bound the pause of a part after a failure, which doubles from one to
	// the other until something is saved. Defaults 200 ms and 30 s.
	BackoffMin, BackoffMax time.Duration
	// Skip decides about an event that is damaged, does not decode, or whose handler fails: true leaves it
	// out for good, and counts it. Failure.Tries says how often it has failed, and Failure.Err may be
	// persistence.ErrDamaged. Default: nothing is left out, and the part does not pass the event until it
	// succeeds.
	Skip func(f *Failure) bool
	// OnFailure hears of every failure, beside the log. It must be quick. Optional.
	OnFailure func(f *Failure)
	// Adapt, when set, changes the configuration of the workers before they are started. Name, Role,
	// Count, WorkersMax and Run are set again afterwards.
	Adapt func(*daemon.Config)
}

const nameMax = 30 // the name of the set of workers has two bytes more

// WithDefaults returns the config with the default in place of each zero field that has one.
func (c Config[E]) WithDefaults() Config[E] {
	config.Default(&c.Parts, 16)
	config.Default(&c.Workers, min(4, c.Parts))
	config.Default(&c.BatchMax, 100)
	config.Default(&c.BatchBytes, 4<<20)
	config.Default(&c.HandleTimeout, 10*time.Second)
	config.Default(&c.StoreTimeout, 5*time.Second)
	config.Default(&c.SaveEvery, 100)
	config.Default(&c.SaveInterval, time.Second)
	config.Default(&c.LookInterval, time.Second)
	config.Default(&c.BackoffMin, 200*time.Millisecond)
	config.Default(&c.BackoffMax, max(30*time.Second, c.BackoffMin))
	return c
}

// Validate reports every fault together.
func (c Config[E]) Validate() error {
	var f config.Faults
	d := c.WithDefaults()
	f.Add(d.Name == "" || len(d.Name) > nameMax, "Name", "has %d bytes, want 1 to %d", len(d.Name), nameMax)
	f.Add(strings.Contains(d.Name, "/"), "Name", "%q has a '/'", d.Name)
	f.Add(d.Role == "", "Role", "is empty")
	f.Add(d.Type == "" || len(d.Type) > persistence.NameMax, "Type", "has %d bytes, want 1 to %d", len(d.Type),
		persistence.NameMax)
	f.Add(len(d.Tag) > persistence.NameMax, "Tag", "has %d bytes, want at most %d", len(d.Tag), persistence.NameMax)
	f.Add(d.Reader == nil, "Reader", "is missing")
	f.Of("Events", d.Events.Validate())
	f.Add(d.Target == nil, "Target", "is missing")
	if t, ok := d.Target.(interface{ Validate() error }); ok {
		f.Of("Target", t.Validate())
	}
	f.Add(d.Parts < 1 || d.Parts > persistence.SliceCount, "Parts", "is %d, want 1 to %d", d.Parts,
		persistence.SliceCount)
	f.Add(d.Workers < 1 || d.Workers > d.Parts, "Workers", "is %d, want 1 to Parts %d", d.Workers, d.Parts)
	for _, n := range []struct {
		name  string
		value int
	}{{"BatchMax", d.BatchMax}, {"BatchBytes", d.BatchBytes}, {"SaveEvery", d.SaveEvery}} {
		f.Add(n.value < 1, n.name, "is %d, want at least 1", n.value)
	}
	for _, n := range []struct {
		name  string
		value time.Duration
	}{
		{"StoreTimeout", d.StoreTimeout}, {"SaveInterval", d.SaveInterval}, {"LookInterval", d.LookInterval},
		{"BackoffMin", d.BackoffMin},
	} {
		f.Add(n.value < 0, n.name, "%v is negative", n.value)
	}
	f.Add(d.BackoffMax < d.BackoffMin, "BackoffMax", "%v is below BackoffMin %v", d.BackoffMax, d.BackoffMin)
	return f.Wrap(fmt.Errorf("%w %q", ErrConfig, c.Name))
}
