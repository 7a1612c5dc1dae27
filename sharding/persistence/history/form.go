package history

import (
	"fmt"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
)

// Form says what the events of a kind of history are, and what they do to the value. S refers to
// the value, as a map or a pointer does.
type Form[S any] struct {
	// Events and Snapshots are how changes and whole values are stored.
	Events, Snapshots schema.Schema[any]
	// Empty makes a value that has no history.
	Empty func() S
	// Apply has an event, or a snapshot, change a value. That of a snapshot is empty before.
	Apply func(to S, event any)
	// Whole makes the snapshot of a value.
	Whole func(S) any
	// Token is the token of the hosting that made an event; zero: none did. Latest is the highest of
	// all events that have changed a value. An event of a lower one is refused. Optional: both or none.
	Token  func(event any) singleton.FencingToken
	Latest func(S) singleton.FencingToken
}

// token is that of an event, if the events of this form have any.
func (f *Form[S]) token(event any) (t singleton.FencingToken) {
	if f.Token != nil {
		t = f.Token(event)
	}
	return t
}

// latest is the highest token that a value has heard of.
func (f *Form[S]) latest(of S) (t singleton.FencingToken) {
	if f.Latest != nil {
		t = f.Latest(of)
	}
	return t
}

// ofSnapshot is the value in a snapshot.
func (f *Form[S]) ofSnapshot(s persistence.Snapshot) (S, error) {
	v := f.Empty()
	if s.Body == nil {
		return v, persistence.ErrDamaged
	}
	w, err := f.Snapshots.Decode(schema.Stored{Name: s.Name, Version: s.Version, Body: s.Body})
	if err != nil {
		return v, err
	}
	f.Apply(v, w)
	return v, nil
}

// apply has a stored event change a value.
func (f *Form[S]) apply(to S, e persistence.Event) error {
	v, err := f.Events.Decode(schema.Stored{Name: e.Name, Version: e.Version, Body: e.Body})
	if err != nil {
		return fmt.Errorf("%w: event %d: %w", persistence.ErrDamaged, e.Seq, err)
	}
	f.Apply(to, v)
	return nil
}
