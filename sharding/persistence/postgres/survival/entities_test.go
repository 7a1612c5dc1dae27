package survival

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/sim/judge"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/durablestate"
	"github.com/coterie-go/coterie/sharding/eventsourced"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/batch"
	"github.com/coterie-go/coterie/sharding/persistence/postgres"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
)

// The types of entities.
const (
	counters = "counter" // event-sourced
	accounts = "account" // keep one value
	plain    = "plain"   // keep nothing
)

const (
	role    = "backend"
	shards  = 30
	callers = 48 // the number of a caller is that of an increment modulo this
)

// command is what is sent to entities.
type command interface{ number() uint64 }

type (
	// add increments. Its Number is its own in the world, and rises for each caller.
	add struct {
		sharding.Returns[command, judge.Receipt]
		Number uint64
	}
	// look asks for the state.
	look struct {
		sharding.Returns[command, judge.Receipt]
		Number uint64
	}
)

func (a add) number() uint64  { return a.Number }
func (l look) number() uint64 { return l.Number }

// count is the state of an entity: how many increments it has, what stands for all of them, and for
// each caller the receipt of the last one.
type count struct {
	Seq  uint64
	Sum  judge.Sum
	Last judge.Record
	Done map[uint64]judge.Receipt
}

func (s count) next(r judge.Record) count {
	n := count{Seq: s.Seq + 1, Sum: s.Sum.Next(r), Last: r, Done: map[uint64]judge.Receipt{}}
	for caller, receipt := range s.Done { // order: a map is made
		n.Done[caller] = receipt
	}
	n.Done[r.Command%callers] = judge.Receipt{Command: r.Command, Seq: n.Seq, Sum: n.Sum}
	return n
}

var (
	records = schema.CBOR(schema.Type("record", judge.Record{}))
	counts  = schema.CBOR(schema.Type("count", count{}))
)

// errSuperseded: the caller has given this increment up, and a later one of it is stored.
var errSuperseded = errors.New("a later increment of the caller is stored")

// entities are those of one node.
type entities struct {
	regions map[string]*sharding.Region[command]
	calls   batch.Settings
	writers sync.Map      // the number of each incarnation, by its type and id
	fenced  atomic.Uint64 // failures because a later hosting has begun
	misfits atomic.Uint64 // failures because the history does not end where an entity knows it to
}

// startEntities starts the types on a node.
func startEntities(n *ddata.Node, store *postgres.Store, calls batch.Settings) (*entities, error) {
	e := &entities{regions: map[string]*sharding.Region[command]{}, calls: calls}
	for _, define := range []func() (sharding.EntityType[command], error){
		func() (sharding.EntityType[command], error) { return e.counters(store) },
		func() (sharding.EntityType[command], error) { return e.accounts(store) },
		func() (sharding.EntityType[command], error) { return e.plain(), nil },
	} {
		t, err := define()
		if err != nil {
			return nil, err
		}
		if e.regions[t.Name], err = sharding.Start(n, t); err != nil {
			return nil, err
		}
	}
	return e, nil
}

func (e *entities) typ(name string) sharding.EntityType[command] {
	return sharding.EntityType[command]{
		Identity:    sharding.Identity{Name: name, Role: role, Shards: shards},
		Messages:    sharding.CBOR[command](add{}, look{}),
		Supervision: sharding.Supervision{BackoffMax: time.Second},
		OnEvent: func(x events.Event) {
			f, failed := x.(sharding.Failure)
			switch {
			case failed && errors.Is(f.Err, persistence.ErrFenced):
				e.fenced.Add(1)
			case failed && errors.Is(f.Err, persistence.ErrConflict):
				e.misfits.Add(1)
			}
		},
	}
}

// counters is the type of the event-sourced entities.
func (e *entities) counters(store *postgres.Store) (sharding.EntityType[command], error) {
	type effect = eventsourced.Effect[command, judge.Record, count]
	return eventsourced.Persist(e.typ(counters), eventsourced.Behavior[command, judge.Record, count]{
		Journal: store, Events: records, Apply: count.next, Started: e.started, Calls: e.calls,
		Snapshot: eventsourced.Snapshot[count]{Every: 10, Schema: counts},
		Handle: func(c *sharding.Context[command], s count, m command) (fx effect, err error) {
			r, stores, err := e.decide(c, s, m)
			if !stores {
				return fx, err
			}
			return fx.Persist(r).ThenReply(count.receipt), nil
		},
	})
}

// accounts is the type of the entities that keep one value.
func (e *entities) accounts(store *postgres.Store) (sharding.EntityType[command], error) {
	type effect = durablestate.Effect[command, count]
	return durablestate.Persist(e.typ(accounts), durablestate.Behavior[command, count]{
		States: store, Schema: counts, Started: e.started, Calls: e.calls,
		Handle: func(c *sharding.Context[command], s count, m command) (fx effect, err error) {
			r, stores, err := e.decide(c, s, m)
			if !stores {
				return fx, err
			}
			return fx.Persist(s.next(r)).ThenReply(count.receipt), nil
		},
	})
}

// plain is the type of the entities that keep nothing.
func (e *entities) plain() sharding.EntityType[command] {
	t := e.typ(plain)
	t.New = func(*sharding.Context[command]) sharding.Entity[command] { return forgetful{} }
	return t
}

type forgetful struct{}

// Receive implements sharding.Entity.
func (forgetful) Receive(c *sharding.Context[command], m command) error {
	return c.Reply(judge.Receipt{Command: m.number()})
}

// started gives an incarnation its number.
func (e *entities) started(c *sharding.Context[command], _ count) error {
	e.writers.Store(c.Region().Name()+"/"+c.ID(), rand.Uint64())
	return nil
}

// receipt is the reply to the increment that was stored last.
func (s count) receipt() any { return s.Done[s.Last.Command%callers] }

// decide makes the record of a command, or answers it if it asks for none, or has been stored.
func (e *entities) decide(c *sharding.Context[command], s count, m command) (r judge.Record, stores bool, err error) {
	if _, adds := m.(add); !adds {
		return r, false, c.Reply(judge.Receipt{Command: m.number(), Seq: s.Seq, Sum: s.Sum})
	}
	switch done := s.Done[m.number()%callers]; {
	case m.number() == done.Command:
		return r, false, c.Reply(done)
	case m.number() < done.Command:
		return r, false, c.Fail(errSuperseded)
	}
	writer, _ := e.writers.Load(c.Region().Name() + "/" + c.ID())
	return judge.Record{Command: m.number(), Parts: 1, Writer: writer.(uint64), Before: s.Sum}, true, nil
}

// question asks an entity.
type question struct {
	Type, ID string
	Number   uint64
	Adds     bool
	Within   time.Duration
}

func (e *entities) ask(ctx context.Context, q question) (judge.Receipt, error) {
	ctx, cancel := context.WithTimeout(ctx, q.Within)
	defer cancel()
	g := e.regions[q.Type]
	if g == nil {
		return judge.Receipt{}, fmt.Errorf("no type %q", q.Type)
	}
	if q.Adds {
		return sharding.Ask(ctx, g.Ref(q.ID), add{Number: q.Number})
	}
	return sharding.Ask(ctx, g.Ref(q.ID), look{Number: q.Number})
}

// coordinates reports whether a node has the coordinator of the counters.
func (e *entities) coordinates(u view.UID) bool { return e.regions[counters].Coordinator() == u }
