package sim

import (
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/handlers"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// askTimeout bounds the questions of clients.
const askTimeout = 5 * time.Second

// entity is a user's entity. Its handler takes time, and misbehaves as the options say.
type entity struct {
	d     *typeHost
	id    protocol.EntityID
	rng   *rand.Rand
	ended bool // its Stop was called
}

var _ sharding.Stopper[handlers.Message] = (*entity)(nil)

func (d *typeHost) newEntity(c *handlers.Context) sharding.Entity[handlers.Message] {
	e := &entity{d: d, id: protocol.EntityID(c.ID()), rng: d.p.behave}
	if after, waits := handlers.Pause(e.rng, &d.p.w.opt, d.p.w.healed); waits {
		e.pause(c, after, func(*handlers.Context) error { return nil })
	}
	return e
}

// Receive implements sharding.Entity.
func (e *entity) Receive(c *handlers.Context, m handlers.Message) error {
	d, w := e.d, e.d.p.w
	h := d.hostingOf(protocol.ShardID(c.Shard()))
	defer e.ends(e.begins(h))
	if e.ended {
		w.violate("nothing after the stop", "%v has T%d/%s handle a message after its Stop", d.p, d.index, e.id)
	}
	d.checkKept(h.shard)
	d.checkMailbox(h.shard, e.id)
	w.handled(d.p, w.tells[m.Number()])
	if took := e.takes(handlers.Time(e.rng, w.healed)); took > 0 {
		d.p.rt.Sleep(took)
	}
	after, waits := handlers.Pause(e.rng, &w.opt, w.healed)
	if waits && e.pause(c, after, func(c *handlers.Context) error { return e.end(c, m) }) {
		return nil
	}
	return e.end(c, m)
}

// end ends the handler of a message.
func (e *entity) end(c *handlers.Context, m handlers.Message) error {
	if p := e.d.p; !p.w.healed {
		hang := func(d time.Duration) { _ = p.Wait(c, e.takes(d)) }
		if err := handlers.End(e.rng, &p.w.opt, hang); err != nil {
			return err
		}
	}
	return e.answer(c, m)
}

// pause has a handler wait for a result that comes in a while, and reports whether it does: then rest ends it.
// To the checkers it runs until then, or until its incarnation has ended.
func (e *entity) pause(c *handlers.Context, after time.Duration, rest func(*handlers.Context) error) bool {
	p := e.d.p
	a, err := c.Await()
	if err != nil { // the lease has ended
		return false
	}
	h := e.d.hostingOf(protocol.ShardID(c.Shard()))
	l := h.life(e.id)
	l.running, l.waiting = l.running+1, l.waiting+1
	goOn := func() {
		a.Continue(func(c *handlers.Context) error {
			l.running, l.waiting = l.running-1, l.waiting-1
			defer e.ends(e.begins(h))
			return rest(c)
		})
	}
	if e.takes(after) == 0 {
		goOn()
	} else {
		p.rt.Go(func() { p.rt.Sleep(after); goOn() })
	}
	return true
}

// begins notes that a handler of the entity begins, for ends.
func (e *entity) begins(h *hosting) *life {
	d, w := e.d, e.d.p.w
	d.checkAlone(h, e.id, true)
	d.checkLease(h.shard, e.id)
	l := h.life(e.id)
	l.used = w.now
	if l.running++; l.running > 1 {
		w.violate("one handler at a time", "%v runs two handlers of T%d/%s", d.p, d.index, e.id)
	}
	return l
}

// ends notes the end of a handler.
func (e *entity) ends(l *life) {
	l.running--
	l.used = e.d.p.w.now
}

// Stop implements sharding.Stopper. It takes time, as handlers do.
func (e *entity) Stop(c *handlers.Context) error {
	d, w := e.d, e.d.p.w
	defer e.ends(e.begins(d.hostingOf(protocol.ShardID(c.Shard()))))
	if e.ended {
		w.violate("nothing after the stop", "%v stops T%d/%s twice", d.p, d.index, e.id)
	}
	e.ended = true
	w.counts.Stopped++
	if took := e.takes(handlers.Time(e.rng, w.healed)); took > 0 {
		d.p.rt.Sleep(took)
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
func (e *entity) answer(c *handlers.Context, m handlers.Message) error {
	if !c.Asked() {
		return nil
	}
	if !random.Chance(e.rng, e.d.p.w.opt.Late) {
		_ = c.Reply(m.Number()) // without the lease the asker hears of that
		return nil
	}
	r, err := c.Responder()
	if err != nil {
		return nil
	}
	p := e.d.p
	after := time.Duration(random.Between(e.rng, 0, int64(2*time.Second)))
	p.rt.Go(func() {
		p.rt.Sleep(after)
		_ = r.Reply(m.Number())
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
