package operation

import (
	"fmt"
	"strings"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/wire"
)

// Refusal is a replica whose disk has refused a write, and what the disk said.
type Refusal struct {
	Replica crdt.Origin
	Why     string
}

// StoreError tells that a durable write cannot reach its level for now, because too many disks have
// refused it; it wraps ErrStoreFailure. A write is not rolled back: it lives in memory, still
// spreads, and each disk is tried again.
type StoreError struct {
	Key     string
	Level   quorum.Level
	Epoch   uint64    // the view that is counted: the installed one, or one that is not settled
	Need    int       // so many of its voters the level asks for
	Have    int       // so many of them have committed the write, as far as known
	Refused []Refusal // other voters whose disks have refused it, by id
	Cause   error     // of the own disk, if that has refused it
}

// Error implements error.
func (e *StoreError) Error() string { return e.Describe(wire.Short) }

// Describe is Error with the caller's names of the members.
func (e *StoreError) Describe(name func(crdt.Origin) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v: write of %q at %v: %d of the %d replicas needed of view %d have committed it",
		ErrStoreFailure, e.Key, e.Level, e.Have,
		e.Need, e.Epoch)
	describeRefusals(&b, e.Cause, e.Refused, name)
	b.WriteString("; it is not rolled back and still spreads")
	return b.String()
}

// Unwrap returns ErrStoreFailure, and the own disk's cause.
func (e *StoreError) Unwrap() []error {
	if e.Cause != nil {
		return []error{ErrStoreFailure, e.Cause}
	}
	return []error{ErrStoreFailure}
}

func describeRefusals(b *strings.Builder, own error, others []Refusal, name func(crdt.Origin) string) {
	if own != nil {
		fmt.Fprintf(b, "; the own disk: %v", own)
	}
	for _, r := range others {
		fmt.Fprintf(b, "; the disk of %s: %s", name(r.Replica), r.Why)
	}
}
