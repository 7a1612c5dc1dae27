package history

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// Complain takes a broken promise: its name, and how it showed.
type Complain func(check, format string, args ...any)

// Check holds a quorum read of a set against its history.
func (b *Set) Check(bad Complain, reader fmt.Stringer, has func(*Entry) bool, start int64, which []int) {
	for _, i := range which {
		e := b.Entries[i]
		switch found := has(e); {
		case !found && e.Must(start):
			bad("acknowledged writes",
				"%v read %s of a majority without %s, acknowledged at %.6f (read began %.6f)", reader, b.Key, e.Elem,
				float64(e.Acked)/1e9, float64(start)/1e9)
		case found && e.MustNot(start):
			bad("acknowledged removes",
				"%v read %s of a majority with %s, whose removal was acknowledged at %.6f (read began %.6f)", reader,
				b.Key,
				e.Elem, float64(e.Gone)/1e9, float64(start)/1e9)
		}
	}
}

// Some draws which of n entries a read is held against: the newest, and a few older ones.
func Some(rng *rand.Rand, n int) []int {
	const newest, older = 48, 16
	out := make([]int, 0, newest+older)
	for i := max(0, n-newest); i < n; i++ {
		out = append(out, i)
	}
	if n > newest {
		for range older {
			out = append(out, rng.IntN(n-newest))
		}
	}
	return out
}

// CheckGroups holds a read of a set to whole groups: of what one update has added, all is seen or
// nothing, except what some process has removed.
func (b *Set) CheckGroups(bad Complain, reader fmt.Stringer, has func(*Entry) bool) {
	const latest = 48
	for _, e := range b.Entries[max(0, len(b.Entries)-latest):] {
		if e.Group != nil && e == e.Group[len(e.Group)-1] {
			b.checkGroup(bad, reader, has, e.Group)
		}
	}
}

// checkGroup holds a read to one whole group.
func (b *Set) checkGroup(bad Complain, reader fmt.Stringer, has func(*Entry) bool, group []*Entry) {
	var with, without *Entry
	for _, e := range group {
		switch {
		case e.Removed:
		case has(e):
			with = e
		default:
			without = e
		}
	}
	if with != nil && without != nil {
		bad("whole groups", "%v reads %s with %.12s and without %.12s, which were added together",
			reader, b.Key, with.Elem, without.Elem)
	}
}

// Check holds a quorum read of a counter against its history.
func (b *Sum) Check(bad Complain, reader fmt.Stringer, got uint64, start int64) {
	if least := b.least(start); got < least || got > b.Invoked {
		bad("acknowledged sums", "%v read %s of a majority: %d, not within %d acknowledged and %d asked for",
			reader, b.Key, got, least, b.Invoked)
	}
}

// CheckFleeting holds a quorum read of a key that expires against its history. An element goes with
// its key. It does not go before the time of the key has passed since the element was written, nor
// since any later write that a majority had acknowledged when the oldest asked it.
func (b *Set) CheckFleeting(bad Complain, reader fmt.Stringer, has func(*Entry) bool, start int64, which []int,
	after, timeout time.Duration, now int64) {
	for _, i := range which {
		if e := b.Entries[i]; !has(e) && e.Must(start) && b.mayExpire(i, after, timeout) > now {
			bad("expires in its time", "%v read %s of a majority without %s, acknowledged at %.6f (read began "+
				"%.6f); the key cannot expire before %.6f",
				reader, b.Key, e.Elem, float64(e.Acked)/1e9, float64(start)/1e9,
				float64(b.mayExpire(i, after, timeout))/1e9)
		}
	}
}

// mayExpire is the first moment at which an element can go because its key expires. What the oldest
// has heard of a majority is as old as an operation may take, at the most.
func (b *Set) mayExpire(i int, after, timeout time.Duration) int64 {
	after = after * 985 / 1000 // by the fastest clock
	asking := int64(timeout) + int64(timeout)/20
	at := b.Entries[i].Asked + int64(after)
	for _, e := range b.Entries[i+1:] {
		if e.Asked+asking > at {
			break // no process knew of this write when the oldest asked; nor of what came later
		}
		if e.Acked != 0 && !e.Added.Excused() && e.Acked+asking <= at && at < e.Asked+int64(after) {
			at = e.Asked + int64(after)
		}
	}
	return at
}

// Unheard is an element that a majority had before a time, with its set, whose update somebody has
// not applied and that may not be missing; nil: there is none.
func (l *History) Unheard(before int64, applied func(key string, f *Fact) bool) (*Entry, *Set) {
	for _, key := range slices.Sorted(maps.Keys(l.Sets)) {
		for _, e := range l.Sets[key].Entries {
			if e.Acked != 0 && e.Acked < before && e.Added.mayBeLost() && !applied(key, &e.Added) {
				return e, l.Sets[key]
			}
		}
	}
	return nil, nil
}
