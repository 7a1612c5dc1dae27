package reminders

import (
	"context"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/outside"
	"github.com/coterie-go/coterie/sharding/failure"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remind"
	"github.com/coterie-go/coterie/sharding/remind/agenda"
)

// Config is what Reminders are made of.
type Config struct {
	Type        string               // the entity type's name
	Meter       events.Meter         // nil: there is none
	Store       remind.Store         // keeps the reminders
	Settings    agenda.Settings      // of the type
	Scheduler   scheduler.Scheduler  // has the time, and runs the loop
	Registry    *codec.Registry      // of the type's messages
	ShardOf     func(string) uint32  // the shard of an id
	Read, Write time.Duration        // the longest that a call of the store may take
	Aside       func(fn func()) bool // runs what waits for the store; false: the region ends
	Context     context.Context      // of the calls; it ends with the region
	Note        func(protocol.Event) // takes what is worth an event; it does not wait
	Defects     defect.Set           // planted by a test
}

// Reminders are those of one entity type on one node. Any goroutine may use them. What does not return
// an error does not wait.
type Reminders struct {
	cfg  Config
	loop runloop.Loop[input]
	m    *machine
	c    outside.Calls

	counts Counts
}

// inboxMax is how many inputs wait for the loop before some are refused. Those that come here are not:
// each stands for a shard, a call, or a reminder that is under way.
const inboxMax = 1 << 16

// New makes the Reminders of a type, without a shard.
func New(c Config) *Reminders {
	c.Settings = c.Settings.WithDefaults()
	r := &Reminders{cfg: c, c: outside.New("remind.Store", c.Scheduler)}
	if c.Meter != nil {
		r.counts.lateness = c.Meter.Histogram(mLate, c.Type)
	}
	r.m = &machine{cfg: c, hosted: map[uint32]*hosting{}, r: r}
	r.loop = runloop.New[input](c.Scheduler, r.m, inboxMax)
	return r
}

// WhenBroken has fn called if an agenda has panicked. It must be called before Start.
func (r *Reminders) WhenBroken(fn func(runloop.Broken)) { r.loop.WhenBroken(fn) }

// Start lets the agendas run.
func (r *Reminders) Start() { r.loop.Start() }

// Stop ends them.
func (r *Reminders) Stop() { r.loop.Stop() }

// Stopped is closed when nothing is answered any more.
func (r *Reminders) Stopped() <-chan struct{} { return r.loop.Stopped() }

func (r *Reminders) put(s *entities.Shard, in agenda.Input) { r.loop.Force(input{s: s, in: in}) }

func (r *Reminders) do(fn func(m *machine, now time.Time)) { r.loop.Force(input{do: fn}) }

// Open begins with the reminders of a shard that has started here, or goes on with them if its stop was taken
// back.
func (r *Reminders) Open(s *entities.Shard) {
	r.do(func(m *machine, _ time.Time) { m.open(s) })
}

// Drain hands out nothing more of a shard, whose mailboxes run empty, until Resume.
func (r *Reminders) Drain(s *entities.Shard) { r.put(s, agenda.Drain{}) }

// Resume takes Drain back.
func (r *Reminders) Resume(s *entities.Shard) { r.put(s, agenda.Resume{}) }

// Flush calls then when what handlers have ended is written, or cannot be now, or the shard ends here.
// then must not wait. Each of several calls is answered.
func (r *Reminders) Flush(s *entities.Shard, then func()) {
	r.do(func(m *machine, _ time.Time) {
		h := m.at(s)
		if h == nil {
			then()
			return
		}
		h.flushed = append(h.flushed, then)
		m.step(h, agenda.Flush{})
	})
}

// Close ends with a shard that does not run here any more.
func (r *Reminders) Close(s *entities.Shard) {
	r.do(func(m *machine, _ time.Time) { m.close(s) })
}

// Changed says that the store has told of a change of a shard.
func (r *Reminders) Changed(shard protocol.ShardID) {
	r.do(func(m *machine, now time.Time) { m.changed(uint32(shard), now) })
}

// ask has a change made that an entity of a shard has asked for.
func (r *Reminders) ask(s *entities.Shard, c remind.Change) *asked {
	q := &asked{answered: make(chan struct{})}
	r.do(func(m *machine, _ time.Time) {
		h := m.at(s)
		if h == nil {
			q.answer(errShardEnded)
			return
		}
		h.lastSet++
		h.asked[h.lastSet] = q
		m.step(h, agenda.Set{ID: h.lastSet, Change: c})
	})
	return q
}

// asked is a change that an entity has asked for.
type asked struct {
	answered chan struct{} // closed when err is set
	err      error
}

func (q *asked) answer(err error) {
	q.err = err
	close(q.answered)
}

// errShardEnded answers changes of a shard that does not run here any more.
var errShardEnded = fmt.Errorf("%w: the shard has ended here; the reminder may be changed or not", failure.ErrStopped)

// encode makes the body of a reminder of a message.
func (r *Reminders) encode(msg any) ([]byte, error) {
	t, err := r.cfg.Registry.Of(msg)
	if err != nil {
		return nil, err
	}
	return t.Append(cbor.AppendUint(nil, t.ID), msg)
}

// message decodes the body of a reminder. What cannot be decoded comes again after a pause, as what a
// handler has failed with: a node with the type may handle it.
func (r *Reminders) message(m remind.Reminder) (any, error) {
	rd := cbor.NewReader(m.Body)
	id := rd.Uint32()
	rest := rd.Rest()
	var msg any
	err := rd.Err()
	if err == nil {
		if t := r.cfg.Registry.WithID(id); t == nil {
			err = fmt.Errorf("%w: its id is %d", codec.ErrUnregistered, id)
		} else {
			msg, err = t.Decode(rest)
		}
	}
	if err != nil {
		err = fmt.Errorf("the message of reminder %q: %w", m.Name, err)
		r.cfg.Note(protocol.Event{
			Kind: protocol.ReminderDamaged, Shard: protocol.ShardID(r.cfg.ShardOf(string(m.Entity))), Entity: m.Entity,
			Text: err.Error(),
		})
	}
	return msg, err
}

// handled tells the agenda how a reminder was handled.
func (r *Reminders) handled(s *entities.Shard, k remind.Key, version uint64, err error) {
	if err == nil {
		r.counts.Handled.Add(1)
	} else {
		r.counts.Failed.Add(1)
	}
	r.put(s, agenda.Handled{Key: k, Version: version, Err: err})
}
