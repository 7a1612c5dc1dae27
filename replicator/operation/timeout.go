package operation

import (
	"fmt"
	"strings"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/wire"
)

// TimeoutError tells how far an operation came before its time was up; it wraps ErrTimeout. A write
// is not rolled back: it lives here, and still spreads. What it counts is what this replica knows:
// more may have the write, whose acks are on their way or were lost.
type TimeoutError struct {
	Key   string
	Level quorum.Level
	Read  bool
	// the view that is counted: the installed one, or one that is not settled and lacks a quorum;
	// 0: not known yet
	Epoch uint64
	Need  int // so many of its voters the level asks for
	// so many of them have the write, have answered the read, or agreed when a linearizable one
	// asked last
	Have    int
	Missing []crdt.Origin // by id, current members not counted in Have; the own id if the own disk lacks it
	Refused []Refusal     // those of Missing whose disks have refused the write, without the own one
	Cause   error         // of the own disk, when it has failed
}

// Error implements error.
func (e *TimeoutError) Error() string { return e.Describe(wire.Short) }

// Describe is Error with the caller's names of the members.
func (e *TimeoutError) Describe(name func(crdt.Origin) string) string {
	var b strings.Builder
	what, did, ever := "write", "have it", "; it is not rolled back and still spreads"
	if e.Read {
		what, did, ever = "get", "have answered", ""
	}
	if e.Level == quorum.Linearizable {
		did = "agree"
	}
	fmt.Fprintf(&b, "%v: %s of %q at %v: ", ErrTimeout, what, e.Key, e.Level)
	if e.Epoch == 0 {
		b.WriteString("a view before the installed one is not known here yet")
	} else {
		names := make([]string, len(e.Missing))
		for i, o := range e.Missing {
			names[i] = name(o)
		}
		fmt.Fprintf(&b, "%d of the %d replicas needed of view %d %s, missing %s",
			e.Have, e.Need, e.Epoch, did, strings.Join(names, " "))
	}
	b.WriteString(ever)
	if e.Cause != nil || len(e.Refused) > 0 {
		fmt.Fprintf(&b, "; %v", ErrStoreFailure)
		describeRefusals(&b, e.Cause, e.Refused, name)
	}
	return b.String()
}

// Unwrap returns ErrTimeout, and if a disk has refused the write, ErrStoreFailure and the own
// disk's cause.
func (e *TimeoutError) Unwrap() []error {
	switch {
	case e.Cause != nil:
		return []error{ErrTimeout, ErrStoreFailure, e.Cause}
	case len(e.Refused) > 0:
		return []error{ErrTimeout, ErrStoreFailure}
	}
	return []error{ErrTimeout}
}
