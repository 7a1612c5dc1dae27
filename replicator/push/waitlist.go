package push

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/runloop/timer"
)

// WaitList holds groups that remove what is not known here yet, until it comes. It is bounded: what
// does not fit is fetched later.
type WaitList struct {
	groups []waiter
	bytes  int
	at     time.Time // when to ask for what the groups wait for
}

type waiter struct {
	group crdt.Group
	from  crdt.Origin // the sender: it has what the group waits for
	needs crdt.Dot    // one dot that it waits for
	bytes int
}

// WaitingMax bounds the groups of a WaitList.
const WaitingMax = 1024

// Waits is what became of a group that cannot be applied yet.
type Waits uint8

// What became of it.
const (
	WaitsAlready Waits = iota // it waits from an earlier time
	WaitsNow                  // it waits from now on
	WaitsNot                  // there is no room
)

// Add keeps a group that a peer has sent and that lacks needs, up to bytesMax bytes of groups or
// one. The gap is asked for at the given time, unless it fills before.
func (w *WaitList) Add(g crdt.Group, from crdt.Origin, needs crdt.Dot, bytesMax int, askAt time.Time) Waits {
	if w.at.IsZero() {
		w.at = askAt
	}
	if slices.ContainsFunc(w.groups, func(x waiter) bool {
		return x.group[0].Dot == g[0].Dot && len(x.group) == len(g)
	}) {
		return WaitsAlready
	}
	size := Weigh(g)
	if len(w.groups) == WaitingMax || w.bytes+size > bytesMax && len(w.groups) > 0 {
		return WaitsNot
	}
	w.groups = append(w.groups, waiter{group: g, from: from, needs: needs, bytes: size})
	w.bytes += size
	return WaitsNow
}

// Retry tries a group of a sender again, and returns what it lacks now; if that is nothing, it need not wait any more.
type Retry func(from crdt.Origin, g crdt.Group) (needs crdt.Dot, waits bool)

// Release hands the groups to retry whose dot has come. One group can make way for others.
func (w *WaitList) Release(has func(crdt.Dot) bool, retry Retry) {
	for again := true; again; {
		again = false
		for i := 0; i < len(w.groups); {
			x := &w.groups[i]
			if !has(x.needs) {
				i++
				continue
			}
			if needs, waits := retry(x.from, x.group); waits {
				x.needs = needs
				i++
				continue
			}
			w.bytes -= x.bytes
			w.groups = slices.Delete(w.groups, i, i+1)
			again = true
		}
	}
	if len(w.groups) == 0 {
		w.at = time.Time{}
	}
}

// Forget drops the groups of origins that are gone.
func (w *WaitList) Forget(gone func(crdt.Origin) bool) {
	w.groups = slices.DeleteFunc(w.groups, func(x waiter) bool {
		is := gone(x.group.First().Origin)
		if is {
			w.bytes -= x.bytes
		}
		return is
	})
}

// Len returns how many groups wait.
func (w *WaitList) Len() int { return len(w.groups) }

// Bytes returns what they hold.
func (w *WaitList) Bytes() int { return w.bytes }

// From returns the sender of the i-th group.
func (w *WaitList) From(i int) crdt.Origin { return w.groups[i].from }

// AskAt returns when to ask for the gap; zero: never.
func (w *WaitList) AskAt() time.Time { return w.at }

// Due reports whether it is time to ask for the gap, and clears that time if so.
func (w *WaitList) Due(now time.Time) bool { return timer.Due(&w.at, now) }

// AskAgainAt sets when to ask for the gap again.
func (w *WaitList) AskAgainAt(at time.Time) { w.at = at }
