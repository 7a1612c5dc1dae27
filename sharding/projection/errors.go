package projection

import (
	"errors"
	"fmt"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// Errors of Start, and of calls about the whole projection.
var (
	// ErrConfig: Config is incomplete or out of bounds. The message lists every fault.
	ErrConfig = errors.New("projection: invalid configuration")
	// ErrParts: the offsets are those of another number of parts. The usual cause is a changed
	// Config.Parts. Take the former number, or another name, which begins anew.
	ErrParts = errors.New("projection: the number of parts has changed")
)

// Errors of Offsets that say what became of a claim.
var (
	// ErrFenced: a later claim has taken the part over, or the projection was reset. Nothing was
	// saved.
	ErrFenced = errors.New("projection: a later claim has taken the part over")
	// ErrPaused: the projection is paused. Nothing was claimed.
	ErrPaused = errors.New("projection: paused")
)

// Failure is why a part has stopped for a while. Of an event it has the entity, the number and the
// type; of the store or the reader it has none of these.
type Failure struct {
	Projection string
	Part       int
	Doing      string            // what failed
	Type       string            // of the entity
	Entity     protocol.EntityID // with Seq 0: of none
	Seq        uint64            // the number of the event; 0: of none
	Name       string            // of the type of the event
	Version    uint32            // of its form
	Tries      int               // how often this event has failed in succession
	Err        error
}

// Error names the part and the event.
func (f *Failure) Error() string {
	if f.Seq == 0 {
		return fmt.Sprintf("projection %q, part %d: %s: %v", f.Projection, f.Part, f.Doing, f.Err)
	}
	return fmt.Sprintf("projection %q, part %d: %s %d of %s %v (%q, version %d), try %d: %v",
		f.Projection, f.Part, f.Doing, f.Seq, f.Type, f.Entity, f.Name, f.Version, f.Tries, f.Err)
}

// Unwrap is the cause.
func (f *Failure) Unwrap() error { return f.Err }
