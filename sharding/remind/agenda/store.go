package agenda

import (
	"time"

	"github.com/coterie-go/coterie/ddata/runloop/timer"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/remind"
)

// maybeWrite begins the next write when none is under way. The ends of turns wait for the pause
// after a failure; what an entity asks for does not.
func (a *Agenda) maybeWrite() {
	if a.write != nil {
		return
	}
	paused := !a.writeTry.at.IsZero() && a.now.Before(a.writeTry.at)
	if len(a.sets) == 0 && (paused || len(a.ends) == 0) {
		if len(a.ends) == 0 {
			a.writeTry.at = time.Time{}
		}
		return
	}
	w := &Write{}
	for ; len(a.sets) > 0 && len(w.Changes) < remind.ChangesMax/2; a.sets = a.sets[1:] {
		w.Changes, w.IDs = append(w.Changes, a.sets[0].Change), append(w.IDs, a.sets[0].ID)
	}
	for ; len(a.ends) > 0 && len(w.Changes) < remind.ChangesMax; a.ends = a.ends[1:] {
		w.Changes, w.IDs = append(w.Changes, a.ends[0]), append(w.IDs, 0)
	}
	a.writeTry.at = time.Time{}
	a.write, a.fx.Write = w, w
}

// onDidWrite answers the sets of the write, and lets go of what has come to its end.
func (a *Agenda) onDidWrite(in DidWrite) {
	w := a.write
	if w == nil {
		return
	}
	a.write = nil
	var again []remind.Change
	for i, c := range w.Changes {
		id := w.IDs[i]
		switch {
		case id != 0:
			a.answer(id, in.Err)
			if in.Err == nil {
				a.stored(c)
				a.void(c)
			}
		case in.Err != nil:
			again = append(again, c) // and dropped if it is fenced
		default:
			a.stored(c)
			a.landed(c)
		}
	}
	if isFenced(in.Err) || a.fenced != nil {
		a.giveUp("write", in.Err)
		return
	}
	a.ends = append(again, a.ends...)
	if in.Err != nil {
		a.failed(&a.writeTry, "write", in.Err)
		return
	}
	a.works(&a.writeTry)
}

// stored notes when what was written is due.
func (a *Agenda) stored(c remind.Change) {
	if c.Remove {
		return
	}
	l := &a.look
	l.next = timer.Earliest(l.next, c.At)
	if l.under {
		l.written = timer.Earliest(l.written, c.At)
	}
}

// void has what an entity has set, or taken away, hold for what is under way: the reminder of before does not
// come any more, unless it is with the entity.
func (a *Agenda) void(c remind.Change) {
	version := c.Version
	if c.Remove {
		version = 0
	}
	if f := a.flights[c.Key()]; f != nil && f.Version != version {
		if f.void = true; f.stage == waiting {
			a.remove(f)
		}
	}
	if a.look.under {
		if a.look.set == nil {
			a.look.set = map[remind.Key]uint64{}
		}
		a.look.set[c.Key()] = version
	}
}

// landed ends a flight, now or when the read that is under way has come back.
func (a *Agenda) landed(c remind.Change) {
	f := a.flights[c.Key()]
	if f == nil || f.stage != ending {
		return
	}
	if f.stage = over; !a.look.under || a.planted.Planted(defect.ForgetsEnd) {
		a.remove(f)
	}
}

func (a *Agenda) remove(f *flight) {
	delete(a.flights, f.Key())
	a.look.wanted = a.look.wanted || f.newer
}

// maybeRead looks for what is due. What has piled up is read when a quarter of the room is free, or
// after a pause, so that a read brings many.
func (a *Agenda) maybeRead() {
	l := &a.look
	free := a.cfg.FiringMax - len(a.flights)
	if l.under || a.draining || a.fenced != nil || free <= 0 || !l.try.at.IsZero() && a.now.Before(l.try.at) {
		return
	}
	due := l.wanted || !l.next.IsZero() && !a.now.Before(l.next)
	if l.more {
		due = 4*free >= a.cfg.FiringMax || !a.now.Before(l.moreAt)
	}
	if !due {
		return
	}
	l.under, l.wanted, l.more, l.written, l.try.at = true, false, false, time.Time{}, time.Time{}
	a.fx.Read = &Read{Until: a.now.Round(0), Limit: a.cfg.FiringMax}
	if a.planted.Planted(defect.FiresEarly) {
		a.fx.Read.Until = a.fx.Read.Until.Add(time.Hour)
	}
}

// onDidRead hands out what is due.
func (a *Agenda) onDidRead(in DidRead) {
	l := &a.look
	if !l.under {
		return
	}
	set := l.set
	l.under, l.set = false, nil
	defer a.forgetOver()
	switch {
	case isFenced(in.Err):
		a.giveUp("read", in.Err)
		return
	case isDamage(in.Err):
		a.tellDamage(in.Err)
	case in.Err != nil:
		l.wanted = true
		a.failed(&l.try, "read", in.Err)
		return
	}
	if in.Err == nil {
		l.damage = ""
	}
	a.works(&l.try)
	l.next, l.more = timer.Earliest(in.Next, l.written), len(in.Due) >= a.cfg.FiringMax
	l.moreAt = a.now.Add(morePause)
	if a.draining {
		l.wanted = true
		return
	}
	for _, r := range in.Due {
		f := a.flights[r.Key()]
		version, isSet := set[r.Key()]
		switch {
		case isSet && version != r.Version: // the entity has heard of what came later
			l.wanted = true
		case f != nil:
			f.newer = f.newer || f.Version != r.Version
		case len(a.flights) >= a.cfg.FiringMax:
			l.more = true
		default:
			f = &flight{Reminder: r}
			a.flights[r.Key()] = f
			a.handOut(f)
			if a.planted.Planted(defect.EndsUnhandled) {
				a.onHandled(Handled{Key: r.Key(), Version: r.Version})
			}
		}
	}
}

// tellDamage tells of something damaged that is due, once until that changes: each look finds it.
func (a *Agenda) tellDamage(err error) {
	if text := err.Error(); text != a.look.damage {
		a.look.damage, a.fx.Alarm = text, err
	}
}

// forgetOver lets go of what was written while the read was under way. What the read has found of it
// may be older.
func (a *Agenda) forgetOver() {
	for _, f := range a.flights { // order: each that is over goes
		if f.stage == over {
			a.remove(f)
		}
	}
}
