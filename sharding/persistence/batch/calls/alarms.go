package calls

import (
	"container/heap"
	"time"
)

// alarms orders lanes by the time at which they have to be looked at.
//
// Invariant: a lane is in it, at its place, if its alarm is not zero.
type alarms []*lane

var _ heap.Interface = (*alarms)(nil)

// Len implements heap.Interface.
func (a alarms) Len() int { return len(a) }

// Less implements heap.Interface.
func (a alarms) Less(i, j int) bool { return a[i].alarm.Before(a[j].alarm) }

// Swap implements heap.Interface.
func (a alarms) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].place, a[j].place = i, j
}

// Push implements heap.Interface.
func (a *alarms) Push(x any) {
	l := x.(*lane)
	l.place = len(*a)
	*a = append(*a, l)
}

// Pop implements heap.Interface.
func (a *alarms) Pop() any {
	last := len(*a) - 1
	l := (*a)[last]
	(*a)[last] = nil
	*a = (*a)[:last]
	return l
}

// set gives a lane another alarm; zero: none.
func (a *alarms) set(l *lane, at time.Time) {
	was := l.alarm
	if was.Equal(at) {
		return
	}
	l.alarm = at
	switch {
	case was.IsZero():
		heap.Push(a, l)
	case at.IsZero():
		heap.Remove(a, l.place)
	default:
		heap.Fix(a, l.place)
	}
}

// due returns the first lane whose time has come, or nil.
func (a alarms) due(now time.Time) *lane {
	if len(a) == 0 || now.Before(a[0].alarm) {
		return nil
	}
	return a[0]
}
