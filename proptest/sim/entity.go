package sim

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// entityMessage is what is sent to entities: its number in the world.
type entityMessage interface{ number() uint32 }

// note is told, and query is asked: it is answered with its number.
type (
	note  uint32
	query uint32
)

func (n note) number() uint32  { return uint32(n) }
func (q query) number() uint32 { return uint32(q) }

// Reply implements sharding.Request.
func (query) Reply(entityMessage, uint32) {}

var _ sharding.Request[entityMessage, uint32] = query(0)

// askTimeout bounds the questions of clients.
const askTimeout = 5 * time.Second

// entity is a user's entity. Its handler takes time, and misbehaves as the options say.
type entity struct {
	d   *typeHost
	id  protocol.EntityID
	rng *rand.Rand
	// ended: its Stop was called
	ended bool
}

var _ sharding.Stopper[entityMessage] = (*entity)(nil)

func (d *typeHost) newEntity(c *sharding.Context[entityMessage]) sharding.Entity[entityMessage] {
	return &entity{d: d, id: protocol.EntityID(c.ID()), rng: d.p.behave}
}

// hangMost is how long a handler hangs that waits for the end of its context.
const hangMost = 12 * time.Second

var errHandler = errors.New("a handler that fails")

// Receive implements sharding.Entity.
func (e *entity) Receive(c *sharding.Context[entityMessage], m entityMessage) error {
	d, w := e.d, e.d.p.w
	h := d.hostingOf(protocol.ShardID(c.Shard()))
	defer e.begins(h)()
	if e.ended {
		w.violate("nothing after the stop", "%v has T%d/%s handle a message after its Stop", d.p, d.index, e.id)
	}
	d.checkKept(h.shard)
	d.checkMailbox(h.shard, e.id)
	w.handled(d.p, w.tells[m.number()])
	if took := e.takes(e.handlerTime()); took > 0 {
		d.p.sleep(took)
	}
	if w.healed {
		return e.answer(c, m)
	}
	o := &w.opt
	switch x := e.rng.Float64(); {
	case x < o.Fails:
		return errHandler
	case x < o.Fails+o.Panics:
		panic("a handler that panics")
	case x < o.Fails+o.Panics+o.Hangs:
		_ = d.p.Wait(c, e.takes(time.Duration(random.Between(e.rng, 0, int64(hangMost)))))
	}
	return e.answer(c, m)
}

// begins notes that a handler of the entity begins, and returns what notes its end.
func (e *entity) begins(h *hosting) (ends func()) {
	d, w := e.d, e.d.p.w
	d.checkAlone(h, e.id, true)
	d.checkLease(h.shard, e.id)
	l := h.life(e.id)
	l.used = w.now
	if l.running++; l.running > 1 {
		w.violate("one handler at a time", "%v runs two handlers of T%d/%s", d.p, d.index, e.id)
	}
	return func() {
		l.running--
		l.used = w.now
	}
}

// Stop implements sharding.Stopper. It takes time, as handlers do.
func (e *entity) Stop(c *sharding.Context[entityMessage]) error {
	d, w := e.d, e.d.p.w
	defer e.begins(d.hostingOf(protocol.ShardID(c.Shard())))()
	if e.ended {
		w.violate("nothing after the stop", "%v stops T%d/%s twice", d.p, d.index, e.id)
	}
	e.ended = true
	w.counts.Stopped++
	if took := e.takes(e.handlerTime()); took > 0 {
		d.p.sleep(took)
	}
	return nil
}

// hostingOf is the hosting of a shard.
func (d *typeHost) hostingOf(s protocol.ShardID) *hosting {
	if h := d.shards[s]; h != nil {
		return h
	}
	return newHosting(s) // it was killed, and the handler could not know yet
}

// answer answers a question: at once, or by a Responder and later.
func (e *entity) answer(c *sharding.Context[entityMessage], m entityMessage) error {
	if !c.Asked() {
		return nil
	}
	if !random.Chance(e.rng, e.d.p.w.opt.Late) {
		_ = c.Reply(m.number()) // without the lease the asker hears of that
		return nil
	}
	r, err := c.Responder()
	if err != nil {
		return nil
	}
	p := e.d.p
	after := time.Duration(random.Between(e.rng, 0, int64(2*time.Second)))
	p.rt.Go(func() {
		p.sleep(after)
		_ = r.Reply(m.number())
	})
	return nil
}

// takes notes what a handler takes at most, for a shutdown of the cluster, which waits for it.
func (e *entity) takes(d time.Duration) time.Duration {
	if k := e.d.p.w.closing; k != nil {
		k.handlers += d
	}
	return d
}

// handlerTime is mostly short, and now and then too long for a stop's patience.
func (e *entity) handlerTime() time.Duration {
	g := e.rng
	switch {
	case !e.d.p.w.healed && g.IntN(2000) == 0:
		return time.Duration(random.Between(g, int64(time.Second), int64(8*time.Second)))
	case g.IntN(20) == 0:
		return time.Duration(random.Between(g, int64(time.Millisecond), int64(30*time.Millisecond)))
	case g.IntN(2) == 0:
		return 0
	}
	return time.Duration(random.Between(g, int64(5*time.Microsecond), int64(300*time.Microsecond)))
}
