package projection

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/ddata/runloop/timer"
	"github.com/coterie-go/coterie/sharding/failure"
	"github.com/coterie-go/coterie/sharding/projection/pace"
)

// lane carries the events of one part to the target, on one goroutine. A round begins with a claim,
// and ends with a failure, with an interruption or with the lane.
//
//	claiming ──► running ──failure──► failing ──pause──► claiming
//	   │ ErrPaused  └──interrupt──► claiming
//	   ▼
//	paused ──LookInterval──► claiming
type lane[E any] struct {
	cfg     *Config[E]
	figures *figures
	part    Part
	pace    *pace.Pace
	shown   shown // what others see

	progress Progress            // of all that was handled or left out
	batchMax int                 // of the next batch: less than Config.BatchMax after a failure within one
	skips    map[pace.Event]bool // events that are left out, and not behind what is saved
	passed   []pace.Event        // of these, those behind progress
}

func newLane[E any](cfg *Config[E], f *figures, part int) *lane[E] {
	return &lane[E]{
		cfg: cfg, figures: f, part: Part{Number: part, Of: cfg.Parts}, batchMax: cfg.BatchMax,
		skips: map[pace.Event]bool{}, shown: shown{status: PartStatus{Part: part}},
		pace: pace.New(pace.Settings{
			SaveEvery: cfg.SaveEvery, SaveInterval: cfg.SaveInterval,
			BackoffMin: cfg.BackoffMin, BackoffMax: cfg.BackoffMax,
		}),
	}
}

// run works until its context ends.
func (l *lane[E]) run(ctx context.Context) {
	for ctx.Err() == nil {
		round, stop := context.WithCancel(ctx)
		l.shown.begin(stop)
		err := l.guarded(round)
		interrupted := round.Err() != nil
		stop()
		var rest time.Duration
		switch {
		case interrupted: // by the worker, or the lane ends
		case errors.Is(err, ErrPaused):
			l.shown.become(Paused, nil)
			rest = l.cfg.LookInterval
		default:
			rest = l.failed(err)
		}
		sleep(ctx, rest)
	}
	l.shown.become(Ended, nil)
}

func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// failed tells of a failure, decides about its event, and returns how long the lane rests.
func (l *lane[E]) failed(err error) (rest time.Duration) {
	f := &Failure{Doing: "run", Err: err}
	if known, ok := errors.AsType[*Failure](err); ok {
		f = known
	}
	f.Projection, f.Part = l.cfg.Name, l.part.Number
	var event pace.Event
	if f.Seq > 0 {
		event = pace.Event{Entity: string(f.Entity), Seq: f.Seq}
	}
	f.Tries, rest = l.pace.Failed(event)
	l.figures.failed(f)
	if f.Seq > 0 && l.cfg.Skip != nil && l.skipped(f) {
		l.skips[event] = true
		rest = 0
	}
	l.shown.become(Failing, f)
	return timer.Jitter(rest, rand.N[time.Duration])
}

// skipped asks Config.Skip, which may panic.
func (l *lane[E]) skipped(f *Failure) (yes bool) {
	defer func() {
		if p := recover(); p != nil {
			l.figures.log.Error("projection: Config.Skip panicked", "failure", f.Error(), "panic", p)
			yes = false
		}
	}()
	return l.cfg.Skip(f)
}

// guarded is a round in which a panic is an error: of the target or the reader.
func (l *lane[E]) guarded(ctx context.Context) (err error) {
	returned := false
	defer func() {
		if !returned {
			err = failure.OfRecovered(recover())
		}
	}()
	err = l.round(ctx)
	returned = true
	return err
}

// round goes on at what is saved.
func (l *lane[E]) round(ctx context.Context) error {
	claim, err := l.claim(ctx)
	if err != nil {
		return err
	}
	l.shown.run(claim, l.progress)
	reading, stop := context.WithCancel(ctx)
	q := newQueue[E](l.cfg.BatchMax, l.cfg.BatchBytes)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.read(reading, q, l.progress.Offset)
	}()
	l.shown.reads(q.front)
	defer func() {
		stop()
		<-ended
	}()
	err = l.carry(ctx, claim, q)
	if l.pace.Unsaved() && !errors.Is(err, ErrFenced) {
		// The round ends: its context may have ended, too.
		if saved := l.save(context.WithoutCancel(ctx), claim); saved != nil && err == nil {
			err = saved
		}
	}
	return err
}

// claim takes the part over.
func (l *lane[E]) claim(ctx context.Context) (Claim, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.StoreTimeout)
	defer cancel()
	claim, at, err := l.cfg.Target.Claim(ctx, l.cfg.Name, l.part)
	if err != nil {
		return claim, &Failure{Doing: "claim", Err: err}
	}
	l.progress, l.passed = at, nil
	l.pace.Begin()
	return claim, nil
}

// carry hands events over until something fails.
func (l *lane[E]) carry(ctx context.Context, claim Claim, q *queue[E]) error {
	for {
		entries, err := q.take(ctx, l.batchMax, l.pace.Deadline())
		if err != nil {
			return err
		}
		if len(entries) > 0 {
			if err := l.handle(ctx, claim, entries); err != nil {
				return err
			}
			l.batchMax = l.cfg.BatchMax
		}
		if l.pace.SaveDue(time.Now()) {
			if err := l.save(ctx, claim); err != nil {
				return err
			}
		}
	}
}

// handle hands over entries up to the first that is damaged or does not decode.
func (l *lane[E]) handle(ctx context.Context, claim Claim, entries []entry[E]) error {
	entries, broken := l.whole(entries)
	b := l.batch(entries)
	if len(b.Events) > 0 {
		l.shown.working(b.Events[0].At)
		defer l.shown.working(time.Time{})
	}
	var done Outcome
	var err error
	if len(b.Events) > 0 {
		if done, err = l.cfg.Target.Handle(ctx, claim, b); err == nil {
			done.Handled = len(b.Events)
		}
		l.figures.handled.Add(int64(done.Handled))
	}
	before := l.progress
	l.pass(entries, done.Handled)
	if done.Saved && err == nil {
		l.saved()
	} else {
		passed := l.progress.Handled - before.Handled + l.progress.Omitted - before.Omitted
		l.pace.Handled(time.Now(), int(passed))
	}
	l.shown.progressed(l.progress)
	if err != nil {
		return l.blame(b, done.Handled, err)
	}
	if broken != nil {
		return l.failure(broken.doing, broken.event, broken.err)
	}
	return nil
}

// whole returns the entries before the first that has an error and is not left out.
func (l *lane[E]) whole(entries []entry[E]) ([]entry[E], *entry[E]) {
	for i := range entries {
		if entries[i].err != nil && !l.skips[eventOf(entries[i].event)] {
			return entries[:i], &entries[i]
		}
	}
	return entries, nil
}

func eventOf[E any](e Recorded[E]) pace.Event {
	return pace.Event{Entity: string(e.Entity), Seq: e.Seq}
}

// batch makes a batch of entries, without those that are left out.
func (l *lane[E]) batch(entries []entry[E]) *Batch[E] {
	b := &Batch[E]{After: l.progress, timeout: l.cfg.HandleTimeout, overdue: l.watch}
	for _, e := range entries {
		if l.skips[eventOf(e.event)] {
			b.After.Omitted++
		} else {
			b.Events = append(b.Events, e.event)
			b.After.Handled++
		}
		b.After.move(e.event.Offset, e.event.At)
	}
	return b
}

// pass moves the progress over entries of which some were handled, up to the first that was not.
func (l *lane[E]) pass(entries []entry[E], handled int) {
	for _, e := range entries {
		switch {
		case l.skips[eventOf(e.event)]:
			l.progress.Omitted++
			l.passed = append(l.passed, eventOf(e.event))
		case handled > 0:
			handled--
			l.progress.Handled++
		default:
			return
		}
		l.progress.move(e.event.Offset, e.event.At)
	}
}

// blame names the event that has failed, unless it is the claim or the end of the round. The next
// batch ends before that event, or is that event alone: so those before it are committed.
func (l *lane[E]) blame(b *Batch[E], handled int, err error) error {
	at := b.failed - 1
	if at < handled {
		return &Failure{Doing: "commit", Err: err}
	}
	l.batchMax = max(1, at-handled)
	return l.failure("handle event", b.Events[at], err)
}

func (l *lane[E]) failure(doing string, e Recorded[E], err error) error {
	return &Failure{Doing: doing, Type: l.cfg.Type, Entity: e.Entity, Seq: e.Seq, Name: e.name, Version: e.version,
		Err: err}
}

// save keeps the progress.
func (l *lane[E]) save(ctx context.Context, claim Claim) error {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.StoreTimeout)
	defer cancel()
	if err := l.cfg.Target.Save(ctx, claim, l.progress); err != nil {
		return &Failure{Doing: "save the offset", Err: err}
	}
	l.saved()
	return nil
}

// saved says that the progress is kept.
func (l *lane[E]) saved() {
	l.pace.Saved()
	l.shown.saved()
	l.figures.saves.Add(1)
	l.figures.skipped.Add(int64(len(l.passed)))
	for _, e := range l.passed {
		delete(l.skips, e)
	}
	l.passed = nil
}

// watch tells of a handler that runs for longer than its time. over ends it.
func (l *lane[E]) watch(e Recorded[E]) (over func()) {
	l.shown.handling(time.Now())
	t := time.AfterFunc(l.cfg.HandleTimeout, func() {
		l.figures.log.Warn("projection: a handler has not returned in time; its part waits for it",
			"projection", l.cfg.Name, "part", l.part.Number, "entity", fmt.Sprint(e.Entity), "seq", e.Seq,
			"event", e.name, "timeout", l.cfg.HandleTimeout)
	})
	return func() {
		t.Stop()
		l.shown.handling(time.Time{})
	}
}
