package projection

import (
	"context"
	"time"

	"github.com/coterie-go/coterie/sharding/persistence"
)

// Offsets keeps how far projections have come. Its methods may be called concurrently, by every
// node. Every call ends soon after its context. An error without a meaning here says that the call
// may have taken effect.
type Offsets interface {
	// Claim takes a part over, and returns where it goes on: at what was saved last, or where a later
	// Reset has put it. After it has returned no Save of an earlier claim takes effect: it gets
	// ErrFenced. Numbers of claims grow. An implementation for AtLeastOnce may let a Save of a node that
	// is cut off succeed there, if it does not count once the nodes hear of each other.
	//
	// Errors: ErrPaused, ErrParts.
	Claim(ctx context.Context, projection string, p Part) (Claim, Progress, error)
	// Save keeps how far a claim has come. It replaces what it has saved before.
	//
	// Errors: ErrFenced.
	Save(ctx context.Context, c Claim, at Progress) error
	// Look returns what is there, without waiting for other nodes: it may be late.
	Look(ctx context.Context, projection string) (State, error)
	// Pause has every later Claim refused, or allowed again. Claims that are there may go on.
	Pause(ctx context.Context, projection string, paused bool) error
	// Reset lets all parts go on at an offset, and fences every claim. What was counted begins with 0.
	//
	// Errors: ErrParts.
	Reset(ctx context.Context, projection string, parts int, at persistence.Offset) error
}

// Part is one of the parts of a projection.
type Part struct {
	Number int // from 0
	Of     int // how many there are
}

// Claim is the right to save for a part.
type Claim struct {
	Projection string
	Part       int
	Number     uint64 // above those of all claims of the part before it
}

// Progress is how far a part has come.
type Progress struct {
	Offset  persistence.Offset // the place after the last event; "": before the first
	At      time.Time          // when that was written; zero: there is none
	Handled uint64             // events that were handled, since the last Reset
	Omitted uint64             // events that were left out by Config.Skip, since the last Reset
}

// move sets the place. A damaged event does not say when it was written.
func (p *Progress) move(to persistence.Offset, at time.Time) {
	p.Offset = to
	if !at.IsZero() {
		p.At = at
	}
}

// State is what is kept of a projection.
type State struct {
	Paused bool
	Parts  []PartState // by number; none before the first claim
}

// PartState is what is kept of a part.
type PartState struct {
	Claim    uint64 // the number of the last claim, or of the last Reset; 0: there was none
	Progress Progress
}
