package reminders

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/runloop/timer"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remind"
	"github.com/coterie-go/coterie/sharding/remind/agenda"
)

// machine steps the agendas, and carries out what they want. It belongs to the goroutine of its loop.
type machine struct {
	cfg    Config
	r      *Reminders
	now    time.Time
	hosted map[uint32]*hosting
	due    timer.Queue[*hosting]

	underWay int // reminders of all shards
}

// hosting is the agenda of a shard that runs here.
type hosting struct {
	s       *entities.Shard
	a       *agenda.Agenda
	lastSet uint64
	written uint64 // updates that were begun
	asked   map[uint64]*asked
	flushed []func()  // of the callers that wait for Flush
	look    time.Time // when the agenda hears of changes that the store has told of; zero: there is none
	looked  time.Time // when it has heard of some

	underWay int // reminders, as counted
}

// changedPause is the least time between two looks because the store has told of changes. Most of
// these are this node's own.
const changedPause = time.Second

// input is one of the loop: for the agenda of s, or a function to run.
type input struct {
	s  *entities.Shard
	in agenda.Input
	do func(m *machine, now time.Time)
}

// Step implements runloop.Machine.
func (m *machine) Step(now time.Time, in input) {
	m.now = now
	if in.do != nil {
		in.do(m, now)
	} else if h := m.at(in.s); h != nil {
		m.step(h, in.in)
	}
}

// Flush implements runloop.Machine.
func (m *machine) Flush() {}

// Deadline implements runloop.Machine.
func (m *machine) Deadline() time.Time { return m.due.Next() }

// Tick implements runloop.Machine.
func (m *machine) Tick() input { return input{do: (*machine).tick} }

func (m *machine) tick(now time.Time) {
	for h, ok := m.due.Take(now); ok; h, ok = m.due.Take(now) {
		if timer.Due(&h.look, now) {
			h.looked = now
			m.step(h, agenda.Changed{})
			continue
		}
		m.step(h, agenda.Tick{})
	}
}

// at is the hosting of a shard; nil: it is over. s may be nil.
func (m *machine) at(s *entities.Shard) *hosting {
	if s == nil {
		return nil
	}
	if h := m.hosted[s.Number]; h != nil && h.s == s {
		return h
	}
	return nil
}

// open begins with a shard. One whose stop was taken back says again that it has started: it goes on with its
// agenda, and with the numbers of its updates.
func (m *machine) open(s *entities.Shard) {
	if m.at(s) != nil && !m.cfg.Defects.Planted(defect.RemindsAnew) {
		return
	}
	h := &hosting{s: s, a: agenda.New(m.cfg.Settings, m.cfg.Defects), asked: map[uint64]*asked{}}
	m.hosted[s.Number] = h
	m.step(h, agenda.Tick{})
}

func (m *machine) close(s *entities.Shard) {
	h := m.at(s)
	if h == nil {
		return
	}
	delete(m.hosted, s.Number)
	m.due.Set(h, time.Time{})
	m.underWay -= h.underWay
	m.r.counts.UnderWay.Store(int64(m.underWay))
	for _, id := range slices.Sorted(maps.Keys(h.asked)) {
		h.asked[id].answer(errShardEnded)
	}
	h.answerFlushes()
}

// answerFlushes tells the callers that wait for Flush.
func (h *hosting) answerFlushes() {
	waiting := h.flushed
	h.flushed = nil
	for _, then := range waiting {
		then()
	}
}

func (m *machine) changed(shard uint32, now time.Time) {
	if h := m.hosted[shard]; h != nil && h.look.IsZero() {
		h.look = timer.Latest(now, h.looked.Add(changedPause))
		m.schedule(h)
	}
}

func (m *machine) schedule(h *hosting) { m.due.Set(h, timer.Earliest(h.look, h.a.Deadline())) }

// step steps the agenda of a shard.
func (m *machine) step(h *hosting, in agenda.Input) {
	fx := h.a.Step(m.now, in)
	for _, a := range fx.Answers {
		q := h.asked[a.ID]
		delete(h.asked, a.ID)
		q.answer(a.Err)
	}
	switch {
	case fx.Alarm == nil:
	case errors.Is(fx.Alarm, remind.ErrDamaged):
		m.note(protocol.ReminderDamaged, h, fx.Alarm.Error())
	default:
		m.note(protocol.RemindersFailed, h, fx.Alarm.Error())
	}
	if fx.Works {
		m.note(protocol.RemindersResumed, h, "")
	}
	if fx.Read != nil {
		m.read(h.s, *fx.Read)
	}
	if fx.Write != nil {
		h.written++
		m.write(h.s, h.written, fx.Write.Changes)
	}
	if fx.Flushed {
		h.answerFlushes()
	}
	m.underWay += h.a.UnderWay() - h.underWay
	h.underWay = h.a.UnderWay()
	m.r.counts.UnderWay.Store(int64(m.underWay))
	m.schedule(h)
	for _, r := range fx.Fire {
		m.handOut(h, r)
	}
}

func (m *machine) note(kind protocol.EventKind, h *hosting, text string) {
	m.cfg.Note(protocol.Event{Kind: kind, Shard: protocol.ShardID(h.s.Number), Text: text})
}

// read looks for what is due, beside the loop.
func (m *machine) read(s *entities.Shard, rd agenda.Read) {
	m.aside(func() {
		var in agenda.DidRead
		in.Err = m.r.c.InTurn(m.cfg.Context, m.cfg.Read, func(ctx context.Context) (err error) {
			in.Due, in.Next, err = m.cfg.Store.Due(ctx, s.Fence(), protocol.ShardID(s.Number), rd.Until, rd.Limit)
			return err
		})
		m.r.put(s, in)
	})
}

// write makes changes, beside the loop.
func (m *machine) write(s *entities.Shard, number uint64, changes []remind.Change) {
	m.aside(func() {
		err := m.r.c.InTurn(m.cfg.Context, m.cfg.Write, func(ctx context.Context) error {
			return m.cfg.Store.Update(ctx, s.Fence(), protocol.ShardID(s.Number), number, changes)
		})
		if err != nil && m.cfg.Context.Err() != nil {
			err = errShardEnded
		}
		m.r.put(s, agenda.DidWrite{Err: err})
	})
}

// aside runs what waits for the store. Once the region ends nothing waits for it any more.
func (m *machine) aside(fn func()) { _ = m.cfg.Aside(fn) }

// handOut puts a reminder into the mailbox of its entity. What it has the agenda step with comes
// later: its effects of now are in use.
func (m *machine) handOut(h *hosting, r remind.Reminder) {
	s, key := h.s, r.Key()
	handled := func(err error) { m.r.handled(s, key, r.Version, err) }
	if home := m.cfg.ShardOf(string(r.Entity)); home != s.Number {
		err := fmt.Errorf("it belongs to shard %d: ShardOf gives one id several shards, or the store had "+
			"no record of its layout when Shards or ShardOf was changed", home)
		m.cfg.Note(protocol.Event{
			Kind: protocol.ReminderStranded, Shard: protocol.ShardID(s.Number), Entity: r.Entity,
			Text: fmt.Sprintf("%q: %v", r.Name, err),
		})
		handled(err)
		return
	}
	missed := r.Missed(m.now)
	env := mailbox.Envelope{Call: mailbox.ReminderCall, Msg: &entities.Reminder{
		Reminder: r, Missed: missed, Handled: handled,
		Open: func() (any, error) { return m.r.message(r) },
	}}
	if v, _ := s.Deliver(string(r.Entity), env, 0); v != mailbox.Accepted {
		m.r.put(s, agenda.Busy{Key: key, Version: r.Version})
		return
	}
	m.r.counts.Fired.Add(1)
	m.r.counts.late(m.now.Sub(r.At))
}
