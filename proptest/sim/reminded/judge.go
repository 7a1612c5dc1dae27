package reminded

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/runloop/timer"
	"github.com/coterie-go/coterie/proptest/sim/journals"
)

// Name is a reminder's, of an entity.
type Name struct{ Entity, Name string }

// Counts are what was seen. Fired are all turns that have come, Turns those that came of reminders that
// repeat, Again those that came once more, Missed what turns said that they have missed, Reshards changes of the
// number of shards.
type Counts struct {
	Set, Stored, Cancelled, Replaced, Doubted, Fired, Turns, Again, Missed, Failed, Reshards uint64
	Store                                                                                    journals.Counts
}

// Add sums the counts of runs.
func (c *Counts) Add(o Counts) {
	c.Set += o.Set
	c.Stored += o.Stored
	c.Cancelled += o.Cancelled
	c.Replaced += o.Replaced
	c.Doubted += o.Doubted
	c.Fired += o.Fired
	c.Turns += o.Turns
	c.Again += o.Again
	c.Missed += o.Missed
	c.Failed += o.Failed
	c.Reshards += o.Reshards
	c.Store.Add(o.Store)
}

// Judge knows the reminders of a world.
type Judge struct {
	complain func(check, format string, args ...any)
	names    map[Name]*named      // only looked up
	byNumber map[uint64]*reminder // only looked up
	open     []*reminder          // those that have yet to come
	counts   Counts
}

// named is what is known of a name.
type named struct {
	changes uint64 // that were asked for
	ended   uint64 // of these, those whose outcome a handler has heard
	settled uint64 // the last of them that is known to have taken effect
	process uint64 // that asked for the last one
	// lost: two processes have asked at one time, one of which may have ended. It is not known whose change
	// came last.
	lost bool
	sets []*reminder // that were asked for, and not replaced
}

// doubted reports whether it is unknown what is stored: the last change has failed, or its outcome is not
// heard.
func (x *named) doubted() bool { return x.lost || x.settled < x.changes }

// reminder is one that was set.
type reminder struct {
	number  uint64
	name    Name
	due     time.Time
	every   time.Duration
	of      *named
	change  uint64 // of its name
	over    uint64 // the process whose entity has replaced it or taken it away; 0: none has
	handled []turn
	next    time.Time // the earliest turn that was not handled; zero: none
	again   time.Time // when it comes again after a failure at the latest, by the clock of the node of that
}

// turn is one that was handled.
type turn struct {
	due    time.Time
	missed uint64
}

// after is the turn after one that was handled; zero: none.
func (r *reminder) after(t turn) time.Time {
	if r.every == 0 {
		return time.Time{}
	}
	return t.due.Add(time.Duration(t.missed+1) * r.every)
}

// NewJudge makes a judge that complains to a function.
func NewJudge(complain func(check, format string, args ...any)) *Judge {
	return &Judge{complain: complain, names: map[Name]*named{}, byNumber: map[uint64]*reminder{}}
}

// Counts are what was seen so far.
func (j *Judge) Counts() Counts { return j.counts }

func (j *Judge) of(n Name) *named {
	x := j.names[n]
	if x == nil {
		x = &named{}
		j.names[n] = x
	}
	return x
}

// Lost reports whether nothing can be known of a name any more.
func (j *Judge) Lost(n Name) bool { return j.of(n).lost }

// Sets notes that an entity on a process asks for a reminder. stored is told how that has ended.
func (j *Judge) Sets(n Name, number uint64, due time.Time, every time.Duration, process uint64) (stored func(error)) {
	x := j.of(n)
	r := &reminder{number: number, name: n, due: due.Round(0), every: every, of: x}
	r.next = r.due
	j.byNumber[number] = r
	j.counts.Set++
	return j.change(x, r, process)
}

// Cancels notes that an entity on a process takes a reminder away.
func (j *Judge) Cancels(n Name, process uint64) (stored func(error)) {
	return j.change(j.of(n), nil, process)
}

func (j *Judge) change(x *named, r *reminder, process uint64) (stored func(error)) {
	x.lost = x.lost || x.ended < x.changes && x.process != process
	x.changes++
	x.process = process
	change := x.changes
	if r != nil {
		r.change = change
		x.sets = append(x.sets, r)
	}
	return func(err error) {
		x.ended++
		if err != nil {
			j.counts.Doubted++
			return
		}
		if x.settled = max(x.settled, change); x.lost || x.settled > change {
			return
		}
		// What was asked for before came before it, or has no effect any more.
		x.sets = slices.DeleteFunc(x.sets, func(before *reminder) bool {
			if before.change >= change {
				return false
			}
			before.over = process
			j.counts.Replaced++
			return true
		})
		if r == nil {
			j.counts.Cancelled++
			return
		}
		j.counts.Stored++
		j.open = append(j.open, r)
	}
}

// Fires judges a turn that comes to an entity on a process, whose clock shows now. handled is called when
// its handler has returned in order.
func (j *Judge) Fires(entity string, number uint64, got turn, now time.Time, process uint64) (handled func()) {
	j.counts.Fired++
	r := j.byNumber[number]
	if r == nil || r.name.Entity != entity {
		j.complain("reminders are of their entity", "%s has reminder %d, which it did not set", entity, number)
		return func() {}
	}
	if now.Before(got.due) {
		j.complain("no reminder comes before its time", "%d of %v comes %v early", number, r.name, got.due.Sub(now))
	}
	if r.over != 0 && r.over != process && !r.of.lost {
		j.complain("what was taken away does not come", "%d of %v was replaced or taken away, and comes elsewhere",
			number, r.name)
	}
	if !r.turn(got.due) {
		j.complain("each turn comes or is missed", "%d of %v comes for %v, handled were %v, the first was %v, every %v",
			number, r.name, got.due, r.handled, r.due, r.every)
	}
	if r.every > 0 {
		j.counts.Turns++
		j.counts.Missed += got.missed
	}
	return func() { r.handle(j, got) }
}

// turn reports whether a turn may come that was set for a time: the first one, one that was handled and
// may come again, or one that follows such a one.
func (r *reminder) turn(due time.Time) bool {
	return due.Equal(r.due) || slices.ContainsFunc(r.handled, func(t turn) bool {
		return t.due.Equal(due) || r.every > 0 && r.after(t).Equal(due)
	})
}

func (r *reminder) handle(j *Judge, got turn) {
	if slices.ContainsFunc(r.handled, func(t turn) bool { return t.due.Equal(got.due) }) {
		j.counts.Again++
	}
	if !slices.Contains(r.handled, got) {
		r.handled = append(r.handled, got)
	}
	if next := r.after(got); r.every == 0 || next.After(r.next) {
		r.next = next
	}
}

// Failed notes that a handler of a turn has failed. The turn comes again by a time, of the clock of its node:
// if that is ahead, and the shard moves, another node waits for it.
func (j *Judge) Failed(number uint64, again time.Time) {
	j.counts.Failed++
	if r := j.byNumber[number]; r != nil {
		r.again = timer.Latest(r.again, again)
	}
}

// Missing is a reminder that has not come, though it was due before a time; 0: there is none.
func (j *Judge) Missing(before time.Time) uint64 {
	j.open = slices.DeleteFunc(j.open, func(r *reminder) bool {
		return r.of.lost || r.over != 0 || r.next.IsZero()
	})
	for _, r := range j.open {
		if timer.Latest(r.next, r.again).Before(before) && !r.of.doubted() {
			return r.number
		}
	}
	return 0
}
