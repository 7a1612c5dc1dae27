package journals

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Door is the store as one process uses it.
type Door struct {
	s *Store
	p Holder
}

var (
	_ persistence.Journal   = (*Door)(nil)
	_ persistence.Snapshots = (*Door)(nil)
	_ persistence.States    = (*Door)(nil)
)

// call takes a call to the store and back. effect is what it does there; it is told whether the call
// is carried out in part only. done is called at the caller, with an answer that is no error.
func (d *Door) call(ctx context.Context, name string, h persistence.Hosting, effect func(part bool) error,
	done func()) error {
	s := d.s
	f, over := s.draw(), make(chan struct{})
	if at, held := s.held(d.p.Slot()); held {
		f = fate{there: f.there, back: f.back, stills: at, held: true}
	}
	if s.faults.InWrites && (name != "Append" || h.Token.IsZero()) {
		f.stills = never
	}
	var err error
	ended := false // the caller waits no more
	s.counts.Calls++
	travel := func() {
		s.w.After(f.there, nil, func() {
			if ended && !f.never {
				s.counts.Late++
			}
			err = d.arrive(name, h, f, effect)
			if !f.silent {
				s.w.After(f.back, d.p, func() { d.p.Enter(func() { close(over) }) })
			}
		})
	}
	if f.stills == Leaving {
		s.w.After(0, nil, func() { d.still(name, f, Leaving, h) })
		s.w.After(time.Microsecond, d.p, travel)
	} else {
		travel()
	}
	end := ctx.Done()
	if f.deaf {
		end = nil
	}
	if d.p.Await(over, end) == 1 {
		ended = true
		return ctx.Err()
	}
	if err == nil && done != nil {
		done()
	}
	return err
}

// arrive is what happens to a call in the store. It returns what its caller is told.
func (d *Door) arrive(name string, h persistence.Hosting, f fate, effect func(part bool) error) error {
	s := d.s
	if f.stills == Arriving {
		d.still(name, f, Arriving, h)
	}
	err := errGone
	switch {
	case f.never:
		s.counts.Hung++
	case !s.reaches(d.p):
		s.counts.Failed++
	case f.fails:
		s.counts.Failed++
		err = errFailed
	default:
		if err = effect(f.halves); err == nil && (f.loses || f.halves) {
			s.counts.Lost++
			err = errLost
		}
		if f.silent {
			s.counts.Hung++
		}
	}
	if s.trace.Watching() {
		s.trace.Line(d.p, "STORE %s %+v: %v", name, f, err)
	}
	s.trace.Fold(21, d.p.UID(), uint64(len(name)), uint64(s.w.Now()))
	if f.stills == Stored {
		d.still(name, f, Stored, h)
	}
	return err
}

// still has the process stand still, for a while or until a later hosting of the shard has begun.
func (d *Door) still(name string, f fate, when Moment, h persistence.Hosting) {
	s := d.s
	if !d.p.Alive() || s.w.Healed() || !f.held && len(s.still) > 0 && s.rng.IntN(4) > 0 { // else too few go on
		return
	}
	long := time.Duration(random.Between(s.rng, int64(time.Second), int64(freezeMost)))
	if f.held || s.rng.IntN(2) == 0 {
		long = freezeMost
		x := standing{d.p, h}
		s.still = append(s.still, x)
		s.w.After(long, nil, func() {
			s.still = slices.DeleteFunc(s.still, func(y standing) bool { return x == y })
		})
	}
	s.trace.Fault(d.p, "CHAOS stands still for %v at moment %d of %s", long, when, name)
	s.counts.Stilled++
	d.p.Freeze(long)
}

// succeeded has processes go on whose shard has a later hosting now. What they have yet to do is done
// while that one begins.
func (s *Store) succeeded(h persistence.Hosting) {
	s.still = slices.DeleteFunc(s.still, func(x standing) bool {
		if x.h.Type != h.Type || x.h.Shard != h.Shard || !x.h.Token.Less(h.Token) {
			return false
		}
		s.counts.Succeeded++
		most := random.Pick(s.rng, 3*time.Millisecond, 30*time.Millisecond, time.Second)
		s.w.After(time.Duration(random.Between(s.rng, 0, int64(most))), nil, x.p.Resume)
		return true
	})
}

// Call takes a call of a hosting to another service and back. It meets what those of the journal do.
func (d *Door) Call(ctx context.Context, h persistence.Hosting, effect func() error) error {
	return d.call(ctx, "Call", h, func(bool) error {
		if top := d.s.top[place{h.Type, h.Shard}]; top.Less(h.Token) {
			d.s.top[place{h.Type, h.Shard}] = h.Token
			d.s.succeeded(h)
		}
		return effect()
	}, nil)
}

// Fence implements persistence.Fencer.
func (d *Door) Fence(ctx context.Context, h persistence.Hosting) error {
	return d.call(ctx, "Fence", h, func(bool) error {
		d.s.planted.fences(h)
		err := d.s.kept.Fence(context.Background(), d.s.planted.hosting(h))
		if err == nil {
			d.s.succeeded(h)
		}
		return d.s.refused(err)
	}, func() { d.s.watcher.Fenced(h) })
}

// refused counts calls of hostings that are over.
func (s *Store) refused(err error) error {
	if err != nil {
		s.counts.Fenced++
	}
	return err
}

// Append implements persistence.Journal.
func (d *Door) Append(ctx context.Context, h persistence.Hosting, writes []persistence.Write,
) (refused []persistence.Refusal, err error) {
	s, own := d.s, slices.Clone(writes) // the caller has its own again when it does not wait any more
	for i := range own {
		own[i].Events = slices.Clone(own[i].Events)
		for k := range own[i].Events {
			own[i].Events[k].Body = bytes.Clone(own[i].Events[k].Body)
		}
	}
	effect := func(part bool) error {
		if part {
			own = own[:s.rng.IntN(len(own)+1)]
		}
		var err error
		refused, err = s.kept.Append(context.Background(), s.planted.hosting(h), s.planted.writes(s, h, own))
		s.counts.Refused += uint64(len(refused))
		s.told(h)
		return s.refused(err)
	}
	if s.planted.AnswersFirst {
		return nil, d.answerFirst(ctx, h, effect)
	}
	if err := d.call(ctx, "Append", h, effect, nil); err != nil {
		return nil, err
	}
	return refused, nil
}

// Load implements persistence.Journal.
func (d *Door) Load(ctx context.Context, h persistence.Hosting, reads []persistence.Read,
	each func(i int, e persistence.Event) error) ([]persistence.End, error) {
	type found struct {
		i int
		e persistence.Event
	}
	var all []found
	var ends []persistence.End
	reads = slices.Clone(reads)
	half := false
	err := d.call(ctx, "Load", h, func(part bool) (err error) {
		half = part
		ends, err = d.s.kept.Load(context.Background(), d.s.planted.hosting(h), reads,
			func(i int, e persistence.Event) error {
				all = append(all, found{i, e})
				return nil
			})
		return d.s.refused(err)
	}, nil)
	switch {
	case err == nil:
	case half: // the answer ends within
		all = all[:len(all)/2]
	default:
		return nil, err
	}
	for _, f := range all {
		if err := each(f.i, f.e); err != nil {
			return nil, err
		}
	}
	return ends, err
}

// Delete implements persistence.Journal.
func (d *Door) Delete(ctx context.Context, h persistence.Hosting, id protocol.EntityID, upTo uint64) error {
	return d.call(ctx, "Delete", h, func(bool) error {
		err := d.s.kept.Delete(context.Background(), d.s.planted.hosting(h), id, upTo)
		if err == nil {
			d.s.watcher.Deleted(h, id, upTo)
		}
		return d.s.refused(err)
	}, nil)
}

// SaveStates implements persistence.States.
func (d *Door) SaveStates(ctx context.Context, h persistence.Hosting, writes []persistence.StateWrite,
) (refused []persistence.Refusal, err error) {
	s, own := d.s, slices.Clone(writes)
	for i := range own {
		own[i].State.Body = bytes.Clone(own[i].State.Body)
	}
	effect := func(part bool) (err error) {
		if part {
			own = own[:s.rng.IntN(len(own)+1)]
		}
		before := map[protocol.EntityID]uint64{}
		for _, w := range own {
			v, _ := s.Value(h.Type, w.Entity)
			before[w.Entity] = v.Revision
		}
		refused, err = s.kept.SaveStates(context.Background(), s.planted.hosting(h), s.planted.states(s, h, own))
		s.counts.Refused += uint64(len(refused))
		for _, w := range own {
			if v, ok := s.Value(h.Type, w.Entity); ok && v.Revision != before[w.Entity] {
				s.watcher.Replaced(h, w.Entity, v)
			}
		}
		return s.refused(err)
	}
	if s.planted.AnswersFirst {
		return nil, d.answerFirst(ctx, h, effect)
	}
	if err := d.call(ctx, "SaveStates", h, effect, nil); err != nil {
		return nil, err
	}
	return refused, nil
}

// LoadStates implements persistence.States.
func (d *Door) LoadStates(ctx context.Context, h persistence.Hosting, ids []protocol.EntityID,
	each func(i int, s persistence.State) error) error {
	found := make([]persistence.State, len(ids))
	ids = slices.Clone(ids)
	err := d.call(ctx, "LoadStates", h, func(bool) error {
		return d.s.refused(d.s.kept.LoadStates(context.Background(), d.s.planted.hosting(h), ids,
			func(i int, v persistence.State) error {
				found[i] = v
				return nil
			}))
	}, nil)
	if err != nil {
		return err
	}
	for i, v := range found {
		if v.Revision == 0 {
			continue
		}
		if err := each(i, v); err != nil {
			return err
		}
	}
	return nil
}
