package persisted

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/proptest/sim/journals"
	"github.com/coterie-go/coterie/proptest/sim/judge"
	"github.com/coterie-go/coterie/proptest/sim/ledgers"
	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/trace"
	"github.com/coterie-go/coterie/proptest/sim/workload"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/incarnation"
	"github.com/coterie-go/coterie/sharding/protocol"
)

type (
	// Process is a node, as its entities see it.
	Process = workload.Process
	// World is where they live.
	World = workload.World
)

// Counts say what was done.
type Counts struct {
	Told, Asked, Answered, Recovered, Resumed uint64
	Judged                                    judge.Counts
	Store                                     journals.Counts
}

// Add sums the counts of runs.
func (c *Counts) Add(o Counts) {
	c.Told += o.Told
	c.Asked += o.Asked
	c.Answered += o.Answered
	c.Recovered += o.Recovered
	c.Resumed += o.Resumed
	c.Judged.Add(o.Judged)
	c.Store.Add(o.Store)
}

// Entities are those of a world.
type Entities struct {
	w           World
	world       *options.Options
	opt         options.Persisted // of world
	role        string
	trace       *trace.Trace
	rng         *rand.Rand // the clients'
	rngHandlers *rand.Rand
	planted     Planted
	store       *journals.Store
	judge       *judge.Judge
	ledgers     *ledgers.Ledgers // of their types
	nodes       map[uint64]*node // by UID; only looked up
	commands    uint64           // so far
	writers     uint64
	counts      Counts
}

// node is what runs on one process.
type node struct {
	p        Process
	types    []*handlers
	probing  bool
	answered bool // each entity has answered a question of the healed world
}

// New makes the entities of a world, and has clients use them until a time after it has healed.
func New(o *options.Options, planted Planted, w World, l *ledgers.Ledgers, rs random.Streams, t *trace.Trace,
) *Entities {
	e := &Entities{
		w: w, ledgers: l, world: o,
		opt: o.Persisted, role: options.Backend, trace: t, planted: planted, nodes: map[uint64]*node{},
		rng: rs.Stream("persisted load", 0), rngHandlers: rs.Stream("persisted handlers", 0),
	}
	if e.opt.Entities == 0 {
		return e
	}
	e.judge = judge.New(w.Violate)
	e.store = journals.New(o.Persisted.Store, planted.Store, w, rs.Stream("store of entities", 0), t, watcher{e})
	e.w.After(3*time.Second, nil, e.send)
	return e
}

// Planted are the errors that the entities and their store are told to have.
type Planted struct {
	Machines defect.Set
	Store    journals.Defects
	Dormant  bool // entities that have failed start again late
}

// types are the names of the types.
func (e *Entities) types() []string {
	switch {
	case e.opt.Entities == 0:
		return nil
	case e.opt.States:
		return []string{Events, States}
	}
	return []string{Events}
}

// Start starts the types on a process. It is called by a routine of the process.
func (e *Entities) Start(p Process) {
	n := &node{p: p}
	h := p.Host()
	for _, typ := range e.types() {
		of, t, err := e.define(typ, p)
		if err == nil {
			_, err2 := h.Data(e.role)
			t.Remember.Entities = e.opt.Remember && typ == Events
			e.ledgers.Keep(p, typ, &t.Coordination, &t.Remember)
			of.region, err = sharding.StartAt(h, t, err2 != nil)
		}
		if err != nil {
			e.w.Violate("persisted", "%v does not start %s: %v", p, typ, err)
			return
		}
		incarnation.Planted(of.region).Plant(e.planted.Machines)
		n.types = append(n.types, of)
	}
	e.nodes[p.UID()] = n
}

// Heal ends the harm to the store.
func (e *Entities) Heal() {
	if e.store != nil {
		e.store.Heal()
	}
}

// Counts are what was done so far.
func (e *Entities) Counts() Counts {
	if e.store != nil {
		e.counts.Judged, e.counts.Store = e.judge.Counts(), e.store.Counts()
	}
	return e.counts
}

// watcher hands what takes effect in the store to the judge.
type watcher struct{ e *Entities }

var _ journals.Watcher = watcher{}

func hostingOf(h persistence.Hosting) judge.Hosting {
	return judge.Hosting{Type: h.Type, Shard: uint32(h.Shard), Token: h.Token}
}

// Fenced implements journals.Watcher.
func (x watcher) Fenced(h persistence.Hosting) { x.e.judge.Fenced(hostingOf(h)) }

// Stored implements journals.Watcher.
func (x watcher) Stored(h persistence.Hosting, id protocol.EntityID, ev persistence.Event) {
	r, err := recordOf(ev.Body)
	if err != nil {
		x.e.w.Violate("persisted", "%v of %s stores what it cannot read: %v", id, h.Type, err)
		return
	}
	x.e.trace.Fold(22, r.Command, ev.Seq)
	x.e.trace.Entity(x.e.w, h.Type, string(id), "STORED %s/%s %d %+v for %v", h.Type, string(id), ev.Seq, r, h.Token)
	x.e.judge.Stored(hostingOf(h), string(id), ev.Seq, r)
}

// Replaced implements journals.Watcher.
func (x watcher) Replaced(h persistence.Hosting, id protocol.EntityID, v persistence.State) {
	s, err := stateOf(v.Body)
	if err != nil {
		x.e.w.Violate("persisted", "%v of %s stores what it cannot read: %v", id, h.Type, err)
		return
	}
	x.e.trace.Fold(23, s.Last.Command, v.Revision)
	x.e.trace.Entity(x.e.w, h.Type, string(id), "STORED %s/%s revision %d %+v for %v",
		h.Type, string(id), v.Revision, s, h.Token)
	x.e.judge.Stored(hostingOf(h), string(id), v.Revision, s.Last)
}

// Saved implements journals.Watcher. A snapshot is an array of the numbers of others, and a state.
func (x watcher) Saved(h persistence.Hosting, shot persistence.Snapshot) {
	rd := cbor.NewReader(shot.Body)
	rd.Tuple(2)
	for range rd.Array(1 << 10) {
		rd.Uint()
	}
	body := rd.Bytes(persistence.BodyMax)
	s, err := stateOf(body)
	if rd.Err() != nil || err != nil {
		x.e.w.Violate("persisted", "%v of %s stores a snapshot that is none: %v, %v",
			shot.Entity, h.Type, rd.Err(), err)
		return
	}
	x.e.trace.Entity(x.e.w, h.Type, string(shot.Entity), "SAVED %s/%s %d", h.Type, string(shot.Entity), shot.Seq)
	x.e.judge.Saved(judge.Entity{Type: h.Type, ID: string(shot.Entity)}, shot.Seq, s.Sum)
}

// Deleted implements journals.Watcher.
func (x watcher) Deleted(h persistence.Hosting, id protocol.EntityID, upTo uint64) {
	x.e.judge.Deleted(judge.Entity{Type: h.Type, ID: string(id)}, upTo)
}

// idOf names an entity.
func idOf(n int) string { return fmt.Sprintf("e%d", n) }
