package stall

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/options"
)

// Waits are the longest waits of each kind, and the longest that the settings allowed then.
type Waits [Kinds]struct{ Took, Limit time.Duration }

func (x Waits) String() string {
	var b strings.Builder
	for k, m := range x {
		fmt.Fprintf(&b, "%v:%.1fs/%.1fs ", Kind(k), m.Took.Seconds(), m.Limit.Seconds())
	}
	return "[" + strings.TrimSuffix(b.String(), " ") + "]"
}

// Add keeps the waits that came closest to their limits.
func (x *Waits) Add(o Waits) {
	for k, m := range o {
		used := func(took, limit time.Duration) float64 { return float64(took) / float64(limit) }
		if m.Limit > 0 && (x[k].Limit == 0 || used(m.Took, m.Limit) > used(x[k].Took, x[k].Limit)) {
			x[k] = m
		}
	}
}

// Lack says what is missing of something. It is put into words when they are asked for: a wait that goes
// on is looked at often, and seldom told.
type Lack struct {
	format string
	args   []any
}

// Lacks returns a Lack, to be put into words before anything happens to args.
func Lacks(format string, args ...any) *Lack { return &Lack{format, args} }

// Said returns a Lack that is in words; nil if there are none.
func Said(text string) *Lack {
	if text == "" {
		return nil
	}
	return Lacks("%s", text)
}

// String puts it into words; nothing is missing where it is nil.
func (l *Lack) String() string {
	if l == nil {
		return ""
	}
	return fmt.Sprintf(l.format, l.args...)
}

// Judge judges how long a healed world waits.
type Judge struct {
	limits  [Kinds]time.Duration
	since   int64
	drained int64 // when a leaving node has handled what was sent before the world was well
	over    [Kinds]bool
	waits   Waits
}

// New makes the judge of a world.
func New(o *options.Options) Judge { return Judge{limits: limitsOf(o)} }

// Begin begins all waits anew.
func (j *Judge) Begin(now int64) { j.since, j.over = now, [Kinds]bool{} }

// Drains notes that a leaving node handles a message of the load. It stays until it has handled all
// that its mailboxes hold, which in an overloaded entity takes any time. So the wait for a view begins
// anew. It does so for a bounded time: the wait for messages does not.
func (j *Judge) Drains(now int64) { j.drained = now }

// from is when a wait began.
func (j *Judge) from(k Kind) int64 {
	if k == ForView {
		return max(j.since, j.drained)
	}
	return j.since
}

// Until is when each wait that has not ended is longer than its limit.
func (j *Judge) Until() int64 { return j.since + int64(slices.Max(j.limits[:])) }

// Waits are the longest that have ended.
func (j *Judge) Waits() Waits { return j.waits }

// Look notes what has come, and complains about what has not come in time. missing says what is
// missing of something that is waited for; nil: nothing.
func (j *Judge) Look(now int64, missing func(Kind) *Lack, complain func(format string, args ...any)) {
	for k, most := range j.limits {
		if j.over[k] {
			continue
		}
		what, took := missing(Kind(k)), time.Duration(now-j.from(Kind(k)))
		switch {
		case what == nil:
			j.over[k] = true
			var ended Waits
			ended[k].Took, ended[k].Limit = took, most
			j.waits.Add(ended)
		case took > most:
			complain("%v took %v since the last fault, the settings allow %v: %s", Kind(k), took, most, what)
		}
	}
}
