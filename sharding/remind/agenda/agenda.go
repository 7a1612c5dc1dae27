package agenda

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/runloop/timer"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/remind"
)

// Agenda decides about the reminders of one shard. It is empty at first, and looks into the store
// with its first step.
//
// A reminder goes this way:
//
//	stored ──due──► handed out ──handled──► ending ──written──► gone, or stored for its next turn
//	                  ▲    │                  ▲
//	            pause │    │ no room          │ failed: stored for later
//	                  └─ waiting              └──────────
//
// Once the store answers remind.ErrFenced the agenda is over: it holds nothing, and wants nothing.
type Agenda struct {
	cfg Settings
	now time.Time
	fx  Effects

	flights  map[remind.Key]*flight
	sets     []Set           // wait for the next write
	ends     []remind.Change // of flights; wait for the next write
	write    *Write          // under way
	writeTry retry
	draining bool
	flushing bool  // Flushed is wanted
	fenced   error // a later hosting has called the store: nothing is handed out or written any more; nil: none

	look look

	planted defect.Set // by a test
}

// look is what is known of the reminders that are stored.
type look struct {
	under   bool      // a read is under way
	try     retry     // after reads that have failed
	wanted  bool      // something has changed
	more    bool      // the last read has found more than there was room for
	moreAt  time.Time // when to read more although little room is free
	next    time.Time // At of the first one that was not due; zero: none
	written time.Time // of what was written while the read is under way, the first At; zero: none
	// what entities have set or taken away while the read is under way: the versions, 0 for taken away
	set    map[remind.Key]uint64
	damage string // of what is due, as last told of; empty: there is none
}

// flight is one reminder under way.
type flight struct {
	remind.Reminder
	stage stage
	out   time.Time // when it was handed out, by which its handler was told how many turns it has missed
	again time.Time // waiting: when it is handed out
	newer bool      // another one of its name was found due
	void  bool      // its entity has set another one of its name since, or taken it away
}

type stage uint8

const (
	handedOut stage = iota
	waiting         // for room
	ending          // in ends, or in write
	over            // written; it stays until a read that began before has come back
)

// retry is the pause after failures of the store.
type retry struct {
	tries int
	at    time.Time // by the monotonic clock; zero: nothing is repeated
}

func (r *retry) failed(now time.Time) {
	r.at = now.Add(timer.Backoff(retryMin, retryMax, r.tries))
	r.tries++
}

// New makes the agenda of a shard.
func New(s Settings, planted defect.Set) *Agenda {
	return &Agenda{
		cfg: s.WithDefaults(), planted: planted, flights: map[remind.Key]*flight{}, look: look{wanted: true},
	}
}

// Step feeds one input. The effects are valid until the next Step.
func (a *Agenda) Step(now time.Time, in Input) *Effects {
	a.now, a.fx = now, Effects{}
	switch in := in.(type) {
	case Tick:
	case Changed:
		a.look.wanted = true
	case Set:
		a.onSet(in)
	case DidRead:
		a.onDidRead(in)
	case DidWrite:
		a.onDidWrite(in)
	case Handled:
		a.onHandled(in)
	case Busy:
		a.onBusy(in)
	case Drain:
		a.onDrain()
	case Resume:
		a.draining, a.look.wanted = false, true
	case Flush:
		a.flushing = true
	case Fenced:
		a.giveUp("read of an entity", in.Err)
	}
	a.handOutAgain()
	a.maybeWrite()
	a.maybeRead()
	a.maybeFlushed()
	return &a.fx
}

// Deadline is when the agenda wants a Tick; the zero time means never.
func (a *Agenda) Deadline() time.Time {
	var d timer.Next
	d.DueAt(a.writeTry.at)
	if a.draining || a.fenced != nil {
		return d.Due
	}
	for _, f := range a.flights { // order: the earliest counts
		if f.stage == waiting {
			d.DueAt(f.again)
		}
	}
	switch l := &a.look; {
	case l.under:
	case !l.try.at.IsZero():
		d.DueAt(l.try.at)
	case len(a.flights) >= a.cfg.FiringMax:
	case l.more:
		d.DueAt(l.moreAt)
	case !l.next.IsZero():
		d.DueAt(a.now.Add(min(max(0, l.next.Sub(a.now)), LookMax)))
	}
	return d.Due
}

// UnderWay is how many reminders are under way.
func (a *Agenda) UnderWay() int { return len(a.flights) }

// onSet queues a change.
func (a *Agenda) onSet(in Set) {
	if a.fenced != nil {
		a.answer(in.ID, a.fenced)
		return
	}
	if len(a.sets) >= SetsMax {
		a.answer(in.ID, fmt.Errorf("%w: %d changes of this shard wait for the store; try again later",
			remind.ErrTooMany, SetsMax))
		return
	}
	a.sets = append(a.sets, in)
}

func (a *Agenda) answer(id uint64, err error) { a.fx.Answers = append(a.fx.Answers, Answer{id, err}) }

// onHandled ends a turn: the reminder goes, or is stored for its next turn, or for later.
func (a *Agenda) onHandled(in Handled) {
	f := a.flights[in.Key]
	if f == nil || f.Version != in.Version || f.stage != handedOut {
		return
	}
	f.stage = ending
	a.ends = append(a.ends, a.end(f, in.Err))
}

// end is the change that ends a turn. The next one is the first that the handler was not told of: turns
// that have passed while it ran are missed ones of the next.
func (a *Agenda) end(f *flight, failure error) remind.Change {
	r := f.Reminder
	c := remind.Change{Reminder: r, If: r.Version}
	if a.planted.Planted(defect.EndsNewer) {
		c.If = 0
	}
	if failure != nil {
		c.Tries = max(c.Tries, c.Tries+1) // it stays at the highest number
		pause := timer.Backoff(a.cfg.BackoffMin, a.cfg.BackoffMax, int(min(r.Tries, 64)))
		c.At = a.now.Add(pause).Round(0)
		c.Version++
		return c
	}
	if next, ok := r.Next(f.out); ok {
		c.Reminder = next
		return c
	}
	c.Remove = true
	return c
}

// onBusy has a reminder wait for room.
func (a *Agenda) onBusy(in Busy) {
	f := a.flights[in.Key]
	switch {
	case f == nil || f.Version != in.Version || f.stage != handedOut:
	case f.void:
		a.remove(f)
	case a.draining:
		a.drop(f)
	default:
		f.stage, f.again = waiting, a.now.Add(busyPause)
	}
}

// onDrain stops handing out. What waits for room is found again after Resume.
func (a *Agenda) onDrain() {
	a.draining = true
	for _, f := range a.flights { // order: each is dropped
		if f.stage == waiting {
			a.drop(f)
		}
	}
}

func (a *Agenda) drop(f *flight) {
	delete(a.flights, f.Key())
	a.look.wanted = true
}

// handOutAgain hands out what has waited for room, in the order of its times.
func (a *Agenda) handOutAgain() {
	var due []*flight
	for _, f := range a.flights { // order: they are sorted
		if f.stage == waiting && !a.now.Before(f.again) {
			due = append(due, f)
		}
	}
	slices.SortFunc(due, func(f, g *flight) int { return cmp.Or(f.At.Compare(g.At), f.Key().Compare(g.Key())) })
	for _, f := range due {
		a.handOut(f)
	}
}

func (a *Agenda) handOut(f *flight) {
	f.stage, f.out = handedOut, a.now
	a.fx.Fire = append(a.fx.Fire, f.Reminder)
}

// failed notes that a call of the store has failed, and tells of the first of them.
func (a *Agenda) failed(r *retry, what string, err error) {
	if a.look.try.tries+a.writeTry.tries == 0 {
		a.fx.Alarm = fmt.Errorf("%s: %w", what, err)
	}
	r.failed(a.now)
}

// giveUp ends the agenda: a later hosting has begun, of which this node has not heard yet. What is under
// way is its concern now. Handlers that run go on until the shard is stopped.
func (a *Agenda) giveUp(what string, err error) {
	if a.fenced != nil {
		return
	}
	a.fenced = err
	a.fx.Alarm = fmt.Errorf("%s: %w; no reminder of the shard comes here any more", what, err)
	for _, s := range a.sets {
		a.answer(s.ID, err)
	}
	clear(a.flights)
	a.sets, a.ends, a.look, a.writeTry = nil, nil, look{}, retry{}
}

// works notes that a call of the store has succeeded.
func (a *Agenda) works(r *retry) {
	failing := r.tries > 0
	*r = retry{}
	a.fx.Works = failing && a.look.try.tries+a.writeTry.tries == 0
}

func (a *Agenda) maybeFlushed() {
	if a.flushing && a.write == nil && (len(a.ends) == 0 || a.writeTry.tries > 0) {
		a.flushing, a.fx.Flushed = false, true
	}
}

// keys lists what is under way, in order.
func (a *Agenda) keys() []remind.Key {
	return slices.SortedFunc(maps.Keys(a.flights), remind.Key.Compare)
}

// String says what is under way.
func (a *Agenda) String() string {
	l := &a.look
	return fmt.Sprintf(
		"under way %v, sets %d, ends %d, writing %t, reading %t, more %t, next %v, draining %t, fenced %t",
		a.keys(), len(a.sets), len(a.ends), a.write != nil, l.under, l.more, l.next, a.draining, a.fenced != nil,
	)
}

// isFenced reports whether a later hosting has called the store.
func isFenced(err error) bool { return errors.Is(err, remind.ErrFenced) }

// isDamage reports whether a read has found something damaged beside the rest.
func isDamage(err error) bool { return errors.Is(err, remind.ErrDamaged) }
