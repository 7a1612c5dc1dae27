package agenda

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/remind"
	"github.com/coterie-go/coterie/sharding/remind/memory"
)

// tool is the token of a caller that nothing fences.
var tool singleton.FencingToken

// play lets entities set, replace and take away reminders while stores, handlers and mailboxes fail
// and the shard drains now and then. Then everything heals, and all that is due has to be handled. It
// returns what went wrong.
func play(t *testing.T, seed uint64, planted defect.Set) []string {
	w := newWorld(seed, Settings{FiringMax: 1 + int(seed%7), BackoffMax: 4 * time.Second}, planted)
	w.fail, w.busy = 0.2*w.Float64(), 0.2*w.Float64()
	w.step(Tick{})
	for range 150 {
		k := key(w.IntN(24))
		switch w.IntN(12) {
		case 0:
			w.change(remind.Change{Reminder: remind.Reminder{Entity: k.Entity, Name: k.Name}, Remove: true})
		case 1:
			w.set(k, w.now.Add(time.Duration(w.IntN(2000)-1000)*time.Millisecond),
				time.Duration(10+w.IntN(1000))*time.Millisecond)
		case 2:
			w.step(Drain{})
			w.step(Flush{})
			w.run(time.Duration(w.IntN(300)) * time.Millisecond)
			w.step(Resume{})
		case 3:
			w.step(Changed{})
		case 4: // the wall clock jumps
			w.now = w.now.Add(time.Duration(w.IntN(4000)-1000) * time.Millisecond)
		default:
			w.set(k, w.now.Add(time.Duration(w.IntN(3000)-500)*time.Millisecond), 0)
		}
		w.run(time.Duration(w.IntN(100)) * time.Millisecond)
	}
	w.fail, w.busy = 0, 0
	w.run(time.Minute)
	for _, r := range w.stored(t) {
		if r.Every == 0 || r.At.Before(w.now.Add(-10*time.Second)) {
			w.errorf("%v is still stored, due at %v, now %v", r.Key(), r.At, w.now)
		}
	}
	for _, c := range w.acked {
		if !c.Remove && c.Every == 0 && w.handled[c.Key()][c.Due.UnixNano()] == 0 && !w.replaced(c) {
			w.errorf("%v of %v was never handled", c.Key(), c.Due)
		}
	}
	if len(w.asked) > 0 {
		w.errorf("%d changes are unanswered", len(w.asked))
	}
	if w.fired == 0 {
		w.errorf("nothing was handed out")
	}
	return w.wrong
}

// replaced reports whether another change of the name was asked for, which may have taken effect
// before this one was due, also if it was answered with an error.
func (w *world) replaced(c remind.Change) bool { return w.changes[c.Key()] > 1 }

func TestAgenda(t *testing.T) {
	for seed := range uint64(300) {
		if wrong := play(t, seed, defect.Set{}); len(wrong) > 0 {
			t.Fatalf("seed %d: %q", seed, wrong)
		}
	}
}

// Each planted mistake is caught.
func TestPlantedMistakes(t *testing.T) {
	for name, d := range map[string]defect.Defect{
		"ends unhandled": defect.EndsUnhandled, "forgets an end": defect.ForgetsEnd, "fires early": defect.FiresEarly,
	} {
		caught := 0
		for seed := range uint64(60) {
			caught += min(1, len(play(t, seed, defect.Of(d))))
		}
		if caught == 0 {
			t.Errorf("%s: no seed has caught it", name)
		}
		t.Logf("%s: caught by %d of 60 seeds", name, caught)
	}
}

// A fenced agenda answers what waits and what comes, once alarms, and wants nothing any more: whether a read
// or a write has been fenced, and whatever the other one comes to.
func TestFenced(t *testing.T) {
	for _, read := range []bool{true, false} {
		a, now := New(Settings{}, defect.Set{}), time.Unix(1e9, 0)
		r := remind.Reminder{Entity: "e", Name: "n", Due: now, At: now, Version: 1}
		var answers []Answer
		alarms := 0
		step := func(in Input) *Effects {
			fx := a.Step(now, in)
			a.checkInvariants()
			answers = append(answers, fx.Answers...)
			if fx.Alarm != nil {
				alarms++
			}
			return fx
		}
		step(Tick{})
		if fx := step(DidRead{Due: []remind.Reminder{r}, Next: now.Add(time.Hour)}); len(fx.Fire) != 1 {
			t.Fatalf("%+v", fx)
		}
		step(Changed{}) // has another read begin
		step(Set{ID: 1, Change: remind.Change{Reminder: r}})
		step(Set{ID: 2, Change: remind.Change{Reminder: r}})
		step(Handled{Key: r.Key(), Version: 1})
		fenced := fmt.Errorf("%w: planned", remind.ErrFenced)
		ends := []Input{DidWrite{Err: fenced}, DidRead{Err: errPlanned}}
		if read {
			ends = []Input{DidRead{Err: fenced}, DidWrite{Err: errPlanned}}
		}
		for _, in := range append(ends, Set{ID: 3}, Changed{}, Resume{}, Tick{}) {
			if fx := step(in); fx.Read != nil || fx.Write != nil || len(fx.Fire) > 0 || fx.Works {
				t.Errorf("read %t, after %+v: %+v", read, in, fx)
			}
		}
		if fx := step(Flush{}); !fx.Flushed || !a.Deadline().IsZero() || a.UnderWay() != 0 || alarms != 1 {
			t.Errorf("read %t: flushed %t, %d alarms, %v", read, fx.Flushed, alarms, a)
		}
		got := map[uint64]bool{}
		for _, x := range answers {
			got[x.ID] = x.Err != nil
		}
		if len(answers) != 3 || !got[1] || !got[2] || !got[3] {
			t.Errorf("read %t: answers %v", read, answers)
		}
	}
}

// What an entity hears of a later hosting ends the agenda, too: what has waited for room is not handed out.
func TestFencedByAnEntity(t *testing.T) {
	a, now := New(Settings{}, defect.Set{}), time.Unix(1e9, 0)
	r := remind.Reminder{Entity: "e", Name: "n", Due: now, At: now, Version: 1}
	a.Step(now, Tick{})
	a.Step(now, DidRead{Due: []remind.Reminder{r}})
	a.Step(now, Busy{r.Key(), r.Version})
	if fx := a.Step(now, Fenced{remind.ErrFenced}); !errors.Is(fx.Alarm, remind.ErrFenced) {
		t.Errorf("the alarm is %v", fx.Alarm)
	}
	a.checkInvariants()
	if fx := a.Step(now.Add(time.Minute), Tick{}); len(fx.Fire) > 0 || fx.Read != nil {
		t.Errorf("it goes on: %+v", fx)
	}
	if fx := a.Step(now, Set{ID: 1}); len(fx.Answers) != 1 || !errors.Is(fx.Answers[0].Err, remind.ErrFenced) {
		t.Errorf("a change is answered %+v", fx.Answers)
	}
}

// Reminders that have waited for room come in the order of their times.
func TestOrderAfterAWait(t *testing.T) {
	a, now := New(Settings{}, defect.Set{}), time.Unix(1e9, 0)
	first := remind.Reminder{Entity: "e", Name: "z", Due: now, At: now, Version: 1}
	second := remind.Reminder{Entity: "e", Name: "a", Due: now, At: now.Add(1), Version: 1}
	a.Step(now, Tick{})
	a.Step(now.Add(1), DidRead{Due: []remind.Reminder{first, second}})
	a.Step(now.Add(1), Busy{first.Key(), 1})
	a.Step(now.Add(1), Busy{second.Key(), 1})
	fx := a.Step(now.Add(time.Second), Tick{})
	if len(fx.Fire) != 2 || fx.Fire[0].Name != first.Name {
		t.Errorf("they come as %v", fx.Fire)
	}
}

// quiet is a world without failures.
func quiet(s Settings) *world { return newWorld(1, s, defect.Set{}) }

// What the handler of a reminder sets under the same name stands, also if it is due at the same time.
func TestSetAgainByItsHandler(t *testing.T) {
	for _, planted := range []defect.Set{{}, defect.Of(defect.EndsNewer)} {
		a := New(Settings{}, planted)
		store, now, ctx := &memory.Store{}, time.Unix(1e9, 0), context.Background()
		r := remind.Reminder{Entity: "e", Name: "n", Due: now, At: now, Version: 1}
		if err := store.Update(ctx, tool, 0, 0, []remind.Change{{Reminder: r}}); err != nil {
			t.Fatal(err)
		}
		fx := a.Step(now, Tick{})
		if fx.Read == nil {
			t.Fatal("no look at the beginning")
		}
		if fx = a.Step(now, DidRead{Due: []remind.Reminder{r}}); len(fx.Fire) != 1 {
			t.Fatalf("%+v", fx)
		}
		again := r
		again.Version = 2
		fx = a.Step(now, Set{ID: 1, Change: remind.Change{Reminder: again}})
		if err := store.Update(ctx, tool, 0, 0, fx.Write.Changes); err != nil {
			t.Fatal(err)
		}
		a.Step(now, Handled{Key: r.Key(), Version: 1})
		fx = a.Step(now, DidWrite{})
		if err := store.Update(ctx, tool, 0, 0, fx.Write.Changes); err != nil {
			t.Fatal(err)
		}
		if left, _ := store.Of(ctx, tool, 0, "e"); (len(left) == 1) != (planted == defect.Set{}) {
			t.Errorf("planted %v: %v is left", planted, left)
		}
	}
}

// A reminder that repeats and was missed for long comes once, with the time of its first turn, and
// goes on with the first turn after now.
func TestMissedTurns(t *testing.T) {
	w := quiet(Settings{})
	begin := w.now
	w.set(key(0), begin, time.Second)
	w.run(500 * time.Millisecond)
	w.now = w.now.Add(time.Hour) // no step meanwhile
	w.run(500 * time.Millisecond)
	turns := w.handled[key(0)]
	if len(turns) != 2 || turns[begin.Add(time.Second).UnixNano()] != 1 || len(w.wrong) > 0 {
		t.Errorf("handled %v, %q", turns, w.wrong)
	}
	for _, r := range w.stored(t) {
		if !r.Due.Equal(begin.Add(time.Hour + time.Second)) {
			t.Errorf("goes on at %v", r.Due.Sub(begin))
		}
	}
}

// Turns that pass while a handler runs are missed ones of the next turn: none is lost unsaid.
func TestTurnsWhileHandled(t *testing.T) {
	a, now := New(Settings{}, defect.Set{}), time.Unix(1e9, 0)
	r := remind.Reminder{Entity: "e", Name: "n", Due: now, At: now, Every: time.Second, Version: 1}
	a.Step(now, Tick{})
	now = now.Add(2500 * time.Millisecond) // two more turns have passed, and the handler hears of them
	a.Step(now, DidRead{Due: []remind.Reminder{r}})
	now = now.Add(3 * time.Second)
	fx := a.Step(now, Handled{Key: r.Key(), Version: r.Version})
	next := fx.Write.Changes[0].Reminder
	if want := r.Due.Add(3 * time.Second); !next.Due.Equal(want) || next.Missed(now) != 2 {
		t.Errorf("goes on at %v with %d missed, want %v with 2", next.Due, next.Missed(now), want)
	}
}

// A handler that fails is repeated after pauses that grow, with the time that its reminder was due.
// The pauses are stored: another agenda goes on with them.
func TestFailuresBackOff(t *testing.T) {
	now := time.Unix(1e9, 0)
	r := remind.Reminder{Entity: "e", Name: "n", Due: now, At: now, Version: 1}
	var pauses []time.Duration
	for try := range 5 {
		a := New(Settings{BackoffMin: time.Second, BackoffMax: 4 * time.Second}, defect.Set{}) // of another host
		a.Step(now, Tick{})
		a.Step(now, DidRead{Due: []remind.Reminder{r}})
		fx := a.Step(now, Handled{Key: r.Key(), Version: r.Version, Err: errPlanned})
		if fx.Write == nil || fx.Write.Changes[0].If != r.Version {
			t.Fatalf("%+v", fx)
		}
		if r = fx.Write.Changes[0].Reminder; !r.Due.Equal(time.Unix(1e9, 0)) || int(r.Tries) != try+1 {
			t.Errorf("try %d: %+v", try, r)
		}
		pauses = append(pauses, r.At.Sub(now))
		now = r.At
	}
	want := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 4 * time.Second, 4 * time.Second}
	if !slices.Equal(pauses, want) {
		t.Errorf("pauses %v", pauses)
	}
}

// With many due, no more are under way than may be, and all come soon.
func TestBacklog(t *testing.T) {
	w := quiet(Settings{FiringMax: 16})
	const n = 400
	for i := range n {
		w.set(key(i), w.now, 0)
	}
	begin := w.now
	for len(w.handled) < n {
		w.run(100 * time.Millisecond)
		if w.now.Sub(begin) > time.Minute {
			t.Fatalf("%d of %d after a minute", len(w.handled), n)
		}
	}
	// a round of 16 takes at most a handler of 100 ms, a read and a write
	if took := w.now.Sub(begin); took > n/16*250*time.Millisecond {
		t.Errorf("%d reminders took %v", n, took)
	}
}

// The wall clock is looked at each LookMax: a jump ahead is seen by then, and a jump back makes
// reminders wait.
func TestWallClockJumps(t *testing.T) {
	w := quiet(Settings{})
	w.set(key(0), w.now.Add(time.Hour), 0)
	w.run(time.Second)
	d := w.a.Deadline()
	if pause := d.Sub(w.now); pause <= 0 || pause > LookMax {
		t.Errorf("looks again after %v", pause)
	}
	w.now = w.now.Add(-time.Hour)
	w.run(90 * time.Minute)
	if len(w.handled) > 0 {
		t.Error("handled before its time")
	}
	w.now = w.now.Add(time.Hour)
	if w.run(LookMax + time.Second); len(w.handled) != 1 || len(w.wrong) > 0 {
		t.Errorf("%d handled after the jump, %q", len(w.handled), w.wrong)
	}
}

// A store that hangs or fails: one alarm, growing pauses, answers with errors, a bound on what
// waits; and all goes on when it works again.
func TestStoreFails(t *testing.T) {
	a, now := New(Settings{}, defect.Set{}), time.Unix(1e9, 0)
	var alarms, answers, reads int
	step := func(in Input) *Effects {
		fx := a.Step(now, in)
		a.checkInvariants()
		if fx.Alarm != nil {
			alarms++
		}
		if fx.Read != nil {
			reads++
		}
		for _, r := range fx.Answers {
			if answers++; r.Err == nil {
				t.Error("answered without an error")
			}
		}
		return fx
	}
	step(Tick{})
	for range 10 {
		if step(DidRead{Err: errPlanned}); a.Deadline().Sub(now) > retryMax {
			t.Errorf("waits for %v", a.Deadline().Sub(now))
		}
		now = a.Deadline()
		step(Tick{})
	}
	for i := range uint64(SetsMax + 2) { // one of them is written
		step(Set{ID: i + 1, Change: remind.Change{Reminder: remind.Reminder{Name: fmt.Sprint(i), Version: 1}}})
	}
	if answers != 1 || alarms != 1 || reads != 11 {
		t.Errorf("%d answers, %d alarms, %d reads", answers, alarms, reads)
	}
	for a.write != nil {
		step(DidWrite{Err: errPlanned})
	}
	if answers != SetsMax+2 || alarms != 1 {
		t.Errorf("%d answers of %d, %d alarms", answers, SetsMax+2, alarms)
	}
	step(Set{ID: 1 << 40})
	a.Step(now, DidWrite{})
	if fx := a.Step(now, DidRead{}); !fx.Works {
		t.Error("the store works, and that is not told")
	}
	if fx := a.Step(now, Changed{}); fx.Read == nil {
		t.Error("no look")
	}
	damage := fmt.Errorf("%w: x", remind.ErrDamaged)
	if fx := a.Step(now, DidRead{Err: damage}); !errors.Is(fx.Alarm, remind.ErrDamaged) {
		t.Errorf("damage is told as %v", fx.Alarm)
	}
}

// Flush waits for what was handled, and not for a store that fails.
func TestFlush(t *testing.T) {
	for _, fails := range []error{nil, errPlanned} {
		a, now := New(Settings{}, defect.Set{}), time.Unix(1e9, 0)
		r := remind.Reminder{Entity: "e", Name: "n", Due: now, At: now, Version: 1}
		a.Step(now, Tick{})
		a.Step(now, DidRead{Due: []remind.Reminder{r}})
		a.Step(now, Drain{})
		a.Step(now, Handled{Key: r.Key(), Version: 1})
		if fx := a.Step(now, Flush{}); fx.Flushed {
			t.Error("before the write")
		}
		if fx := a.Step(now, DidWrite{Err: fails}); !fx.Flushed {
			t.Errorf("not after the write, %v", fails)
		}
	}
}
