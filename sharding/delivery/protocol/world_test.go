package protocol

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// world is producers and entities in virtual time, on a network that loses, repeats and reorders.
// All packets and acks pass through their encoding.
type world struct {
	t         *testing.T
	rng       *rand.Rand
	now       time.Time
	producers []*testProducer
	entities  []*testEntity
	wires     []wire
	calm      bool // nothing bad happens any more
	cfg       ConsumerConfig

	handled   map[string]bool // by body: some incarnation's handler has confirmed it
	accepted  map[string]bool // by body: has to arrive
	judged    map[string]int  // by producer and entity: everything up to here was handled, or not accepted
	confirmed int
}

type wire struct {
	toEntity, toBox string
	bytes           []byte
}

// testProducer is a producer with its queue.
type testProducer struct {
	w       *world
	id      string
	durable bool
	gen     uint64
	m       *Producer
	disk    []Row
	batch   *Batch // is being stored
	op      uint64
	bodies  map[uint64]string // by op
	confirm map[uint64]bool
	sent    map[string]int // by entity: the messages' own numbers
	open    map[string]bool
}

// testEntity is one entity's present incarnation and what it saw.
type testEntity struct {
	w    *world
	id   string
	inc  uint64
	c    *Consumer
	last map[string]int // by producer: the highest number handled by this incarnation
	held []Packet       // are handled late
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		t: t, rng: rand.New(rand.NewPCG(seed, 7)), now: time.Unix(1000, 0), handled: map[string]bool{},
		accepted: map[string]bool{},
		judged:   map[string]int{},
	}
	w.cfg = ConsumerConfig{
		Window: 1 + w.rng.IntN(8), BufferMax: 1 + w.rng.IntN(20),
		ProducersMax: 2 + w.rng.IntN(3), ForgetAfter: time.Hour,
	}
	for i := range 1 + w.rng.IntN(3) {
		p := &testProducer{w: w, id: fmt.Sprint("p", i), durable: w.rng.IntN(2) == 0, bodies: map[uint64]string{},
			confirm: map[uint64]bool{},
			sent:    map[string]int{}, open: map[string]bool{}}
		p.start()
		w.producers = append(w.producers, p)
	}
	if w.rng.IntN(3) > 0 || len(w.producers) > w.cfg.ProducersMax {
		w.cfg.ProducersMax = 10
	}
	for i := range 1 + w.rng.IntN(4) {
		e := &testEntity{w: w, id: fmt.Sprint("e", i)}
		e.start()
		w.entities = append(w.entities, e)
	}
	return w
}

// start begins a new process of the producer.
func (p *testProducer) start() {
	p.gen++
	cfg := ProducerConfig{ID: p.id, Origin: 1, Generation: p.gen, Durable: p.durable, BufferMax: 30, ChannelsMax: 2}
	m, err := NewProducer(p.w.now, cfg, p.disk)
	if err != nil {
		p.w.t.Fatal(err)
	}
	p.m, p.batch = m, nil
	p.step(Flush{})
}

// restart ends the process: what was not stored is lost, a batch under way may have been.
func (p *testProducer) restart() {
	if p.batch != nil && p.w.rng.IntN(2) == 0 {
		p.apply(p.batch)
	}
	if !p.durable {
		for body := range p.open {
			delete(p.w.accepted, body)
		}
	}
	clear(p.open)
	p.start()
}

func (p *testProducer) apply(b *Batch) {
	p.disk = append(p.disk, b.Add...)
	p.disk = slices.DeleteFunc(p.disk, func(r Row) bool { return slices.Contains(b.Remove, r.RowKey) })
}

func (p *testProducer) step(in ProducerInput) {
	fx := p.m.Step(p.w.now, in)
	p.m.check()
	if fx.Store != nil {
		if p.batch != nil {
			p.w.t.Fatal("two batches under way")
		}
		p.batch = fx.Store
	}
	for _, s := range fx.Send {
		p.w.wires = append(p.w.wires, wire{toEntity: s.Entity, bytes: AppendPacket(nil, &s.Packet)})
	}
	for _, o := range fx.Done {
		body := p.bodies[o.Op]
		switch o.Result {
		case Accepted:
			p.w.accepted[body], p.open[body] = true, true
		case Confirmed:
			p.w.confirmed++
			if !p.w.handled[body] {
				p.w.t.Errorf("%s is confirmed, and no consumer has handled it", body)
			}
		case GivenUp:
			p.w.t.Errorf("%s gave up", p.id)
		}
	}
}

func (p *testProducer) submit() {
	e := p.w.entities[p.w.rng.IntN(len(p.w.entities))]
	p.op++
	p.sent[e.id]++
	body := fmt.Sprintf("%s/%s/%d", p.id, e.id, p.sent[e.id])
	p.bodies[p.op] = body
	p.step(Submit{Op: p.op, Entity: e.id, Body: []byte(body), Confirm: p.w.rng.IntN(3) == 0})
}

// stored answers the batch under way.
func (p *testProducer) stored() {
	b := p.batch
	if b == nil {
		return
	}
	p.batch = nil
	if !p.w.calm && p.w.rng.IntN(5) == 0 {
		p.step(Stored{Err: errors.New("disk")})
	} else {
		p.apply(b)
		p.step(Stored{})
	}
}

func (e *testEntity) start() {
	e.inc++
	e.c, e.last, e.held = NewConsumer(e.w.cfg, e.id, e.inc), map[string]int{}, nil
}

func (e *testEntity) step(in ConsumerInput) {
	for in != nil {
		fx := e.c.Step(e.w.now, in)
		e.c.check()
		for _, s := range fx.Send {
			e.w.wires = append(e.w.wires, wire{toBox: s.Box, bytes: AppendAck(nil, &s.Ack)})
		}
		in = nil
		if p := fx.Deliver; p != nil {
			in = e.handle(*p)
		}
	}
}

// handle is the user's handler: it confirms, fails, or waits.
func (e *testEntity) handle(p Packet) ConsumerInput {
	roll := e.w.rng.IntN(10)
	if e.w.calm {
		roll = 9
	}
	switch {
	case roll < 2:
		return Failed{Incarnation: e.inc, Producer: p.Producer, Session: p.Session, Seq: p.Seq}
	case roll < 4:
		e.held = append(e.held, p)
		return Held{Producer: p.Producer}
	}
	return e.confirms(p)
}

// confirms notes a message that was handled, and checks its order.
func (e *testEntity) confirms(p Packet) Handled {
	body := string(p.Body)
	part := strings.Split(body, "/")
	var n int
	if _, err := fmt.Sscan(part[2], &n); err != nil || part[0] != p.Producer || part[1] != e.id {
		e.w.t.Errorf("%s got %s of %s", e.id, body, p.Producer)
	}
	if last := e.last[p.Producer]; n <= last {
		e.w.t.Errorf("incarnation %d of %s handled %d of %s after %d", e.inc, e.id, n, p.Producer, last)
	}
	key := part[0] + "/" + part[1]
	for i := e.w.judged[key] + 1; i < n; i++ {
		before := fmt.Sprintf("%s/%s/%d", p.Producer, e.id, i)
		if e.w.accepted[before] && !e.w.handled[before] {
			e.w.t.Errorf("%s was handled, and %s, which was accepted before, was not", body, before)
		}
	}
	e.w.judged[key] = max(e.w.judged[key], n)
	e.last[p.Producer], e.w.handled[body] = n, true
	return Handled{Incarnation: e.inc, Producer: p.Producer, Session: p.Session, Seq: p.Seq}
}

// late confirms, or fails, one message that was held.
func (e *testEntity) late() {
	if len(e.held) == 0 {
		return
	}
	p := e.held[0]
	e.held = e.held[1:]
	if f := e.c.flows[p.Producer]; f == nil || f.session != p.Session || f.handling != p.Seq { // its session is over
		return
	}
	if !e.w.calm && e.w.rng.IntN(4) == 0 {
		e.step(Failed{Incarnation: e.inc, Producer: p.Producer, Session: p.Session, Seq: p.Seq})
		return
	}
	h := e.confirms(p)
	in, err := DecodeForConsumer(AppendHandled(nil, &h))
	if err != nil {
		e.w.t.Fatal(err)
	}
	e.step(in)
}

// move takes one wire off the network.
func (w *world) move() {
	if len(w.wires) == 0 {
		return
	}
	i := 0
	if !w.calm {
		i = w.rng.IntN(len(w.wires))
	}
	x := w.wires[i]
	fate := w.rng.IntN(10)
	if w.calm {
		fate = 9
	}
	if fate != 0 { // 0: it is repeated
		w.wires = slices.Delete(w.wires, i, i+1)
	}
	if fate == 1 || fate == 2 { // lost
		return
	}
	for _, e := range w.entities {
		if e.id == x.toEntity {
			in, err := DecodeForConsumer(x.bytes)
			if err != nil {
				w.t.Fatal(err)
			}
			e.step(in)
		}
	}
	for _, p := range w.producers {
		if p.id == x.toBox {
			a, err := DecodeAck(x.bytes)
			if err != nil {
				w.t.Fatal(err)
			}
			p.step(a)
			p.step(Flush{})
		}
	}
}

func (w *world) tick(d time.Duration) {
	w.now = w.now.Add(d)
	for _, p := range w.producers {
		if at := p.m.Deadline(); !at.IsZero() && !at.After(w.now) {
			p.step(Tick{})
		}
	}
}

// chaos is one random event.
func (w *world) chaos() {
	p := w.producers[w.rng.IntN(len(w.producers))]
	e := w.entities[w.rng.IntN(len(w.entities))]
	switch roll := w.rng.IntN(200); {
	case roll < 40:
		for range 1 + w.rng.IntN(4) {
			p.submit()
		}
		p.step(Flush{})
	case roll < 120:
		w.move()
	case roll < 145:
		w.tick(time.Duration(w.rng.Int64N(int64(2 * time.Second))))
	case roll < 150:
		w.tick(time.Duration(w.rng.Int64N(int64(3 * time.Minute))))
	case roll < 170:
		p.stored()
		p.step(Flush{})
	case roll < 190:
		e.late()
	case roll < 194:
		e.start()
	case roll < 196:
		p.restart()
	default:
		p.step(Moved{Of: func(entity string) bool { return entity == e.id }})
		p.step(Unsent{Entity: e.id, Session: Session{Generation: p.gen, Channel: w.rng.Uint64N(5)}})
		p.step(Flush{})
	}
}

// heal lets everything arrive; false: something does not.
func (w *world) heal() bool {
	w.calm = true
	for range 3000 {
		for len(w.wires) > 0 {
			w.move()
		}
		busy := false
		for _, e := range w.entities {
			for len(e.held) > 0 {
				e.late()
			}
		}
		for _, p := range w.producers {
			p.stored()
			p.step(Flush{})
			busy = busy || p.m.Stats().Unconfirmed > 0 || p.batch != nil
		}
		if !busy && len(w.wires) == 0 {
			return true
		}
		w.tick(time.Second)
	}
	return false
}

// Whatever the network, the handlers, the disks and the restarts do: in one incarnation each
// message once and in order, nothing skipped; and in the end everything that was accepted by a
// producer which could keep it.
func TestWorlds(t *testing.T) {
	confirmed, handled := 0, 0
	for seed := range uint64(400) {
		w := newWorld(t, seed)
		for range 1500 {
			w.chaos()
		}
		if !w.heal() {
			for _, p := range w.producers {
				t.Logf("%s %+v", p.id, p.m.Stats())
			}
			t.Errorf("not everything is confirmed after healing")
		}
		for body := range w.accepted {
			if !w.handled[body] {
				t.Errorf("%s never arrived", body)
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		confirmed, handled = confirmed+w.confirmed, handled+len(w.handled)
	}
	if confirmed == 0 || handled < 10_000 {
		t.Errorf("%d handled and %d confirmed: the worlds are too quiet", handled, confirmed)
	}
	t.Logf("%d messages handled, %d confirmations awaited", handled, confirmed)
}
