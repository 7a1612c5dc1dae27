package calls

import (
	"fmt"
	"time"
)

// Input is Submit, Returned, End, Close, Flush or Tick.
type Input interface{ input() }

type (
	// Submit asks for something.
	Submit struct{ Op *Op }
	// Returned is the end of a Call.
	Returned struct {
		Call    *Call
		Outcome Outcome
		Err     error     // nil if it has succeeded
		Settled []Settled // Ops of the call that are done whatever the outcome
	}
	// End says that a hosting is over.
	End struct{ Hosting Hosting }
	// Close ends everything.
	Close struct{}
	// Flush comes when no more inputs wait: calls begin.
	Flush struct{}
	// Tick comes at the Deadline.
	Tick struct{}
)

func (Submit) input()   {}
func (Returned) input() {}
func (End) input()      {}
func (Close) input()    {}
func (Flush) input()    {}
func (Tick) input()     {}

// Outcome is how a call has ended.
type Outcome uint8

const (
	// Succeeded: each Op that is not among Settled was carried out.
	Succeeded Outcome = iota
	// Unknown: the call may have had an effect, or not; it may be repeated.
	Unknown
	// Hopeless: the call had no effect, and a repetition would end alike.
	Hopeless
	// Fenced: a later hosting has begun.
	Fenced
)

// Settled is the end of one Op of a call: Err is why it had no effect, nil if it had.
type Settled struct {
	Index int
	Err   error
}

// Effects is what a step asks for. It is valid until the next one.
type Effects struct {
	Start    []*Call // each is answered by Returned
	Done     []Done
	Finished []Finished // of the calls that have succeeded; Stats counts the others
	Notices  []Notice
}

// Done is the end of an Op.
type Done struct {
	Op   *Op
	Err  error
	Took time.Duration // since its Submit
}

// Finished is a call that has succeeded.
type Finished struct {
	Kind Kind
	Took time.Duration
	Did  int // Ops that it has carried out; none of Fence
}

// NoticeKind is what a Notice tells.
type NoticeKind uint8

const (
	// Slow: a call takes, or took, longer than SlowAfter.
	Slow NoticeKind = iota
	// Failing: a call has failed.
	Failing
	// Back: calls succeed again, and in time.
	Back
	// Hangs: a call has not returned after its time-out.
	Hangs
	// LostFence: a later hosting of the shard has begun.
	LostFence
)

var noticeNames = [...]string{"slow", "failing", "back", "hangs", "lost fence"}

// Notice tells a change of a store, or of a hosting.
type Notice struct {
	Kind NoticeKind
	Call *Call // at which it was noticed
	Took time.Duration
	Err  error
}

// Strings prints the effects, one a line.
func (fx *Effects) Strings() []string {
	var out []string
	for _, c := range fx.Start {
		out = append(out, "call "+c.String())
	}
	for _, d := range fx.Done {
		s := fmt.Sprintf("done %v", d.Op)
		if d.Took > 0 {
			s += fmt.Sprintf(" after %v", d.Took)
		}
		if d.Err != nil {
			s += fmt.Sprintf(": %v", d.Err)
		}
		out = append(out, s)
	}
	for _, f := range fx.Finished {
		s := fmt.Sprintf("%v succeeded in %v", f.Kind, f.Took)
		if f.Did > 0 {
			s += fmt.Sprintf(" for %d", f.Did)
		}
		out = append(out, s)
	}
	for _, n := range fx.Notices {
		s := fmt.Sprintf("store %d %s: %v took %v", n.Call.Store, noticeNames[n.Kind], n.Call.Kind, n.Took)
		if n.Err != nil {
			s += fmt.Sprintf(": %v", n.Err)
		}
		out = append(out, s)
	}
	return out
}

func (fx *Effects) reset() {
	clear(fx.Start)
	clear(fx.Done)
	clear(fx.Notices)
	fx.Start, fx.Done, fx.Finished, fx.Notices = fx.Start[:0], fx.Done[:0], fx.Finished[:0], fx.Notices[:0]
}
