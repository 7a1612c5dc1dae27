package incarnation

import (
	"fmt"

	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Failure is why an entity could not read or write its state. It is the failure of the entity, about
// which the type's Supervision decides; Resume counts as Restart.
type Failure struct {
	Type    string // of the entity
	Entity  protocol.EntityID
	Doing   string // what failed
	Seq     uint64 // the sequence number of an event, or the revision of a state; 0: of none
	Name    string // of the type of what is stored; "": of none
	Version uint32 // of its form; 0: of none
	Err     error
}

// Error names the entity, and what was read or written.
func (f *Failure) Error() string {
	what := ""
	if f.Seq > 0 {
		what = fmt.Sprintf(" number %d", f.Seq)
	}
	if f.Name != "" {
		what += fmt.Sprintf(" (%q, version %d)", f.Name, f.Version)
	}
	return fmt.Sprintf("%s %v: %s%s: %v", f.Type, f.Entity, f.Doing, what, f.Err)
}

// Unwrap is the cause.
func (f *Failure) Unwrap() error { return f.Err }

// supervise is what a type does about its failures, with an answer for Failure: the type's own, but
// Restart if it has none, and never Resume. A restart reads the state anew after a backoff.
func supervise(s sharding.Supervision) sharding.Supervision {
	decide := s.Decide
	s.Decide = func(err error) sharding.Directive {
		d := sharding.DefaultDirective
		if decide != nil {
			d = decide(err)
		}
		if IsFailure(err) && (d == sharding.DefaultDirective || d == sharding.Resume) {
			d = sharding.Restart
		}
		return d
	}
	return s
}
