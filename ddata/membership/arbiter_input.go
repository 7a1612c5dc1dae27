package membership

import (
	"time"

	"github.com/coterie-go/coterie/ddata/membership/arbitration"
)

// ArbiterAcquired answers an arbitration.Acquire: this node holds the arbiter's lease.
type ArbiterAcquired struct {
	Record []byte    // under the lease; empty = none was ever saved
	Until  time.Time // before that time no other node gets it
}

// ArbiterDenied answers an arbitration.Acquire: this node does not hold the lease.
type ArbiterDenied struct {
	Err string // empty = another holds it
}

// ArbiterSaved answers an arbitration.Save.
type ArbiterSaved struct {
	Err string // empty = the record is durable; else it may be the old or the new one
}

// ArbiterLost says that this node may not hold the arbiter's lease any more. It must come before
// another can acquire it, or after the Until of it.
type ArbiterLost struct{ Err string }

// ArbiterProlonged says that the arbiter's lease, which this node holds, ends at another time.
type ArbiterProlonged struct{ Until time.Time }

func (ArbiterAcquired) input()  {}
func (ArbiterDenied) input()    {}
func (ArbiterSaved) input()     {}
func (ArbiterLost) input()      {}
func (ArbiterProlonged) input() {}

// String prints the input.
func (a ArbiterAcquired) String() string {
	if len(a.Record) == 0 {
		return "arbiter acquired"
	}
	r, err := arbitration.Decode(a.Record)
	if err != nil {
		return "arbiter acquired: " + err.Error()
	}
	return "arbiter acquired: " + r.String()
}

// String prints the input.
func (a ArbiterDenied) String() string { return "arbiter denied" + because(a.Err) }

// String prints the input.
func (a ArbiterSaved) String() string { return "arbiter saved" + because(a.Err) }

// String prints the input.
func (a ArbiterLost) String() string { return "arbiter lost" + because(a.Err) }

// String prints the input.
func (ArbiterProlonged) String() string { return "arbiter prolonged" }

func because(err string) string {
	if err == "" {
		return ""
	}
	return ": " + err
}
