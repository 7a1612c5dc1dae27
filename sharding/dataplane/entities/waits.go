package entities

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/dataplane/pool"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// waits are the entities of a runtime that are held for results that have not come, in the order in which they began to
// wait. It tells of the waits that last: each once, a few at a time, and of the oldest again
// whenever its age has doubled. So a store that hangs does not fill a log.
type waits struct {
	clock func() time.Duration
	after time.Duration        // the age from which on a wait is told of; not positive: none is
	note  func(protocol.Event) // is told; it does not wait
	look  *scheduler.Alarm     // while an entity waits; nil: none is told of

	mu          sync.Mutex
	first, last *Awaited
	young       *Awaited // the first that is not slow; nil: all are
	n, slow     int      // of the list; of these, those before young
}

// wait is what waits know of an Awaited, under their lock.
type wait struct {
	next, prev *Awaited
	since      time.Duration // on the region's clock
	told       time.Duration // the age at which it was told of; 0: not yet
	slow       bool
}

const (
	waitLooks = 4 // in the time after which a wait is told of
	waitsTold = 8 // waits that one look tells of, at most
)

func newWaits(clock func() time.Duration, c scheduler.Clock, after time.Duration) *waits {
	l := &waits{clock: clock, after: after}
	if after > 0 {
		l.look = scheduler.NewAlarm(c, max(pool.SlowLeast, after/waitLooks), l.lookAgain)
	}
	return l
}

// stop ends the looks.
func (l *waits) stop() {
	if l.look != nil {
		l.look.Stop()
	}
}

// add notes that an entity waits from now on.
func (l *waits) add(a *Awaited) {
	l.mu.Lock()
	a.since = l.clock()
	if a.prev = l.last; a.prev == nil {
		l.first = a
	} else {
		a.prev.next = a
	}
	l.last = a
	if l.n++; l.young == nil {
		l.young = a
	}
	l.mu.Unlock()
	if l.look != nil {
		l.look.Arm()
	}
}

// remove notes that it waits no more.
func (l *waits) remove(a *Awaited) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.young == a {
		l.young = a.next
	}
	if a.prev == nil {
		l.first = a.next
	} else {
		a.prev.next = a.next
	}
	if a.next == nil {
		l.last = a.prev
	} else {
		a.next.prev = a.prev
	}
	l.n--
	if a.slow {
		l.slow--
	}
	a.next, a.prev = nil, nil
}

// lookAgain tells of the waits that have become slow.
func (l *waits) lookAgain() {
	for _, a := range l.due(l.clock()) {
		l.note(a.event())
	}
	if n, _ := l.Count(); n > 0 {
		l.look.Arm()
	}
}

// overdue is a wait that has to be told of.
type overdue struct {
	of    *Awaited
	age   time.Duration
	count int // waits that are slow, with this one
}

func (o overdue) event() protocol.Event {
	e := protocol.Event{
		Kind: protocol.ResultAwaited, Shard: protocol.ShardID(o.of.entity.Shard.Number),
		Entity: protocol.EntityID(o.of.entity.ID), Took: o.age, Count: o.count,
	}
	if o.of.what != nil {
		e.Text = fmt.Sprint(o.of.what)
	}
	return e
}

// due lists what has to be told at a time.
func (l *waits) due(now time.Duration) (all []overdue) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var told []*Awaited
	if a := l.first; a != nil && a.told > 0 && now-a.since >= 2*a.told {
		told = append(told, a)
	}
	for ; l.young != nil && now-l.young.since >= l.after; l.young = l.young.next {
		l.young.slow = true
		if l.slow++; len(told) < waitsTold {
			told = append(told, l.young)
		}
	}
	for _, a := range told {
		a.told = now - a.since
		all = append(all, overdue{of: a, age: a.told, count: l.slow})
	}
	return all
}

// Count is how many entities wait for results, and how many of them for longer than a handler may
// run.
func (l *waits) Count() (n, slow int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n, l.slow
}

// Of says for what an entity waits, and for how long it has; empty: for no result.
func (l *waits) Of(e *Entity) string {
	x := e.Extra.Load()
	if x == nil {
		return ""
	}
	a := x.awaited.Load()
	if a == nil {
		return ""
	}
	l.mu.Lock()
	listed, age := l.first == a || a.prev != nil, l.clock()-a.since
	l.mu.Unlock()
	if !listed {
		return ""
	}
	return a.after(age)
}

// after says what the wait is for. It calls code of the user's, so that no lock is held.
func (a *Awaited) after(age time.Duration) string {
	age = age.Round(time.Millisecond)
	if a.what == nil {
		return fmt.Sprintf("a handler of it has waited for a result for %v (Context.Await)", age)
	}
	return fmt.Sprintf("a handler of it has waited for %v for %v", age, a.what)
}

// Oldest names the entities that have waited for longest, a few of them.
func (l *waits) Oldest() string {
	const most = 3
	var oldest []overdue
	l.mu.Lock()
	for a := l.first; a != nil && len(oldest) < most; a = a.next {
		oldest = append(oldest, overdue{of: a, age: l.clock() - a.since})
	}
	all := l.n
	l.mu.Unlock()
	var names []string
	for _, o := range oldest {
		names = append(names, fmt.Sprintf("%v: %s", o.of.entity, o.of.after(o.age)))
	}
	if n := all - len(names); n > 0 {
		names = append(names, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(names, "; ")
}
