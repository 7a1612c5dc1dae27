package durablestate

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

// Behavior says what entities with messages M and a state S do. Its functions run on the workers of
// the type, one at a time for each entity.
type Behavior[M, S any] struct {
	// States keeps the states. It is shared by all nodes that host the type. Required.
	States persistence.States
	// Schema lists the types of states. Default: S, under the name "state", in version 1.
	Schema schema.Schema[S]
	// Empty makes the state of an entity that has none. Default: the zero value.
	Empty func(id string) S
	// Handle decides about a message. It must not change the state, but make another one. An error is
	// a failure of the entity, as one of Receive is; then nothing is persisted. Handle may use all of
	// Context but Await, if it persists. Required.
	Handle func(c *sharding.Context[M], state S, msg M) (Effect[M, S], error)
	// Started is called when an incarnation has read its state, before its first message. Its error
	// is a failure of the entity. Optional.
	Started func(c *sharding.Context[M], state S) error
	// Calls bound and pace the calls of the store. GiveUpAfter must be below the type's Timeouts.Ask,
	// so that an asker gets the store's error. Default: as batch.Settings says, or four fifths of
	// Timeouts.Ask if that is less.
	Calls batch.Settings
	// Tags names a state: at most persistence.TagsMax names. Optional.
	Tags func(id string, state S) []string
}

func (b Behavior[M, S]) withDefaults() Behavior[M, S] {
	if b.Schema.IsZero() && reflect.TypeFor[S]().Kind() != reflect.Interface {
		var example S
		b.Schema = schema.CBOR(schema.Type("state", example))
	}
	if b.Empty == nil {
		b.Empty = func(string) (zero S) { return zero }
	}
	return b
}

// Validate reports every fault together.
func (b Behavior[M, S]) Validate() error {
	var f config.Faults
	f.Add(b.States == nil, "States", "is missing")
	f.NilPointer("States", b.States)
	f.Of("Schema", b.withDefaults().Schema.Validate())
	f.Add(b.Handle == nil, "Handle", "is missing")
	f.Of("Calls", b.Calls.Validate())
	return f.Wrap(ErrConfig)
}

// Persist makes an entity type keep its states: the behavior makes its entities. Its New must not be
// set. The type's Supervision decides about a Failure, too: by default with a restart after its
// backoff; Resume counts as Restart then.
//
// Every node that hosts the type starts it so; a proxy needs the type alone.
func Persist[M, S any](t sharding.EntityType[M], b Behavior[M, S]) (sharding.EntityType[M], error) {
	if err := b.Validate(); err != nil {
		return t, fmt.Errorf("entity type %q: %w", t.Name, err)
	}
	if err := incarnation.Adopt(&t, &b.Calls, ErrConfig); err != nil {
		return t, fmt.Errorf("entity type %q: %w", t.Name, err)
	}
	d := &definition[M, S]{Behavior: b.withDefaults()}
	t.StateStores = []any{d.States}
	t.New = func(c *sharding.Context[M]) sharding.Entity[M] { return d.begin(c) }
	return t, nil
}
