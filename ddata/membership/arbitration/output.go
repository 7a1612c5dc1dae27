package arbitration

import "github.com/coterie-go/coterie/ddata/runloop/timer"

// Output is what a call of the Carrier wants done.
type Output struct {
	Ops        []Op
	Given      string // not empty: this node speaks for the arbiter no longer, and why
	Failing    string // not empty: the lease cannot be used, and why; said when that changes
	Tell       bool   // the others have to hear at once what this node now says of itself
	Wake       bool   // Advance has something to do at once
	timer.Next        // when to call Advance again at the latest
}

// do asks for an operation.
func (o *Output) do(op Op) { o.Ops = append(o.Ops, op) }

// Op is something to be done with the arbiter's lease. Acquire and Save are answered; Release is
// not.
type Op struct {
	Do     Do
	Record []byte // Save: what will be under the lease; the bytes are the caller's
}

// Do is the kind of an Op.
type Do uint8

// What is done with the arbiter's lease.
const (
	Acquire Do = iota + 1 // try once, and load the record
	Save
	Release
)

// String prints the operation.
func (o Op) String() string {
	switch o.Do {
	case Acquire:
		return "acquire"
	case Release:
		return "release"
	}
	r, err := Decode(o.Record)
	if err != nil {
		return "save: " + err.Error()
	}
	return "save " + r.String()
}
