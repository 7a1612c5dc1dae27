package eventsourced

import (
	"fmt"
	"reflect"

	"github.com/coterie-go/coterie/ddata/config"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/batch"
	"github.com/coterie-go/coterie/sharding/persistence/incarnation"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
)

// Behavior says what entities with messages M, events E and a state S do. Its functions run on the
// workers of the type, one at a time for each entity.
type Behavior[M, E, S any] struct {
	// Journal keeps the events. It is shared by all nodes that host the type. Required.
	Journal persistence.Journal
	// Events lists the types of events. Required: schema.CBOR(schema.Type[E](name, example)…).
	Events schema.Schema[E]
	// Empty makes the state of an entity without events. Default: the zero value.
	Empty func(id string) S
	// Handle decides about a message. It must not change the state, which Apply alone does. An error
	// is a failure of the entity, as one of Receive is; then nothing is persisted. Handle may use
	// all of Context but Await, if it persists. Required.
	Handle func(c *sharding.Context[M], state S, msg M) (Effect[M, E, S], error)
	// Apply makes the state after an event of the state before. It must depend on nothing else, and
	// do nothing else: it runs before the event is stored, and again for each incarnation. Required.
	Apply func(state S, event E) S
	// Started is called when an incarnation has read its state, before its first message. Its error
	// is a failure of the entity. Optional.
	Started func(c *sharding.Context[M], state S) error
	// Tags names an event for those that read all events of a type (persistence.Query.Tag): at most
	// persistence.TagsMax names. Optional.
	Tags func(id string, event E) []string
	// Calls bound and pace the calls of the store. GiveUpAfter must be below the type's Timeouts.Ask,
	// so that an asker gets the store's error. Default: as batch.Settings says, or four fifths of
	// Timeouts.Ask if that is less.
	Calls batch.Settings
	// Snapshot says when the state is kept beside the events. Default: never.
	Snapshot Snapshot[S]
}

// Snapshot says when the state of an entity is kept, and for how long.
type Snapshot[S any] struct {
	// Every is after how many events a snapshot is made. The entity does not wait for it. Default 0:
	// none is made for their number.
	Every int
	// OnStop has an entity make one when it ends in order: passivation, hand-off, the stop of the
	// region. The end waits for it.
	OnStop bool
	// Keep is how many snapshots of an entity are kept. More let it start without all its events
	// when several are damaged. Default 2.
	Keep int
	// DeleteEvents has events deleted up to the oldest snapshot that is kept. Readers of all events
	// miss them then. Default: events are kept.
	DeleteEvents bool
	// Store keeps the snapshots. Default: the Journal, if it is a persistence.Snapshots.
	Store persistence.Snapshots
	// Schema lists the types of states. Default: S, under the name "state", in version 1.
	Schema schema.Schema[S]
}

// used reports whether there are snapshots.
func (s Snapshot[S]) used() bool { return s.Every > 0 || s.OnStop }

// keepMost is the highest Snapshot.Keep: each snapshot lists those before it.
const keepMost = 100

func (b Behavior[M, E, S]) withDefaults() Behavior[M, E, S] {
	config.Default(&b.Snapshot.Keep, 2)
	if b.Snapshot.Store == nil {
		b.Snapshot.Store, _ = b.Journal.(persistence.Snapshots)
	}
	if b.Snapshot.Schema.IsZero() && reflect.TypeFor[S]().Kind() != reflect.Interface {
		var example S
		b.Snapshot.Schema = schema.CBOR(schema.Type("state", example))
	}
	if b.Empty == nil {
		b.Empty = func(string) (zero S) { return zero }
	}
	return b
}

// Validate reports every fault together.
func (b Behavior[M, E, S]) Validate() error {
	d := b.withDefaults()
	var f config.Faults
	f.Add(b.Journal == nil, "Journal", "is missing")
	f.NilPointer("Journal", b.Journal)
	f.NilPointer("Snapshot.Store", b.Snapshot.Store)
	f.Of("Events", b.Events.Validate())
	f.Add(b.Handle == nil, "Handle", "is missing")
	f.Add(b.Apply == nil, "Apply", "is missing")
	s := d.Snapshot
	f.Add(s.Every < 0, "Snapshot.Every", "%d is negative", s.Every)
	f.Add(s.Keep < 1 || s.Keep > keepMost, "Snapshot.Keep", "is %d, want 1 to %d", s.Keep, keepMost)
	f.Add(s.DeleteEvents && !s.used(), "Snapshot.DeleteEvents",
		"is set, but there are no snapshots: set Every or OnStop")
	if s.used() {
		f.Add(s.Store == nil, "Snapshot.Store", "is missing, and the Journal keeps no snapshots")
		f.Of("Snapshot.Schema", s.Schema.Validate())
	}
	f.Of("Calls", b.Calls.Validate())
	return f.Wrap(ErrConfig)
}

// Persist makes an entity type event-sourced: the behavior makes its entities. Its New must not be
// set. The type's Supervision decides about a Failure, too: by default with a restart after its
// backoff; Resume counts as Restart then.
//
// Every node that hosts the type starts it so; a proxy needs the type alone.
func Persist[M, E, S any](t sharding.EntityType[M], b Behavior[M, E, S]) (sharding.EntityType[M], error) {
	if err := b.Validate(); err != nil {
		return t, fmt.Errorf("entity type %q: %w", t.Name, err)
	}
	if err := incarnation.Adopt(&t, &b.Calls, ErrConfig); err != nil {
		return t, fmt.Errorf("entity type %q: %w", t.Name, err)
	}
	d := &definition[M, E, S]{Behavior: b.withDefaults()}
	t.StateStores = []any{d.Journal}
	if d.Snapshot.DeleteEvents { // what is deleted is in snapshots alone
		t.StateStores = append(t.StateStores, d.Snapshot.Store)
	}
	t.New = func(c *sharding.Context[M]) sharding.Entity[M] { return d.begin(c) }
	return t, nil
}
