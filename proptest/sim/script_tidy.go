package sim

import (
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/sim/network"
	"github.com/coterie-go/coterie/proptest/sim/random"
)

// playTidying plays, again and again, what makes tidying up dangerous: that the oldest, which does it
// for all, does not know what others know.
func playTidying(c *chaos) { repeat(c, missedWrites, missedJoin, lateWords, lateWords) }

// playLateCounts plays only what makes folding dangerous.
func playLateCounts(c *chaos) { repeat(c, lateWords) }

// repeat plays one of several plays after the other until the world heals.
func repeat(c *chaos, plays ...func(*chaos) time.Duration) {
	w := c.w
	var next func()
	next = func() {
		w.net.Cut(nil)
		w.net.LoseBy(nil)
		w.net.HoldBy(nil)
		if w.healed {
			return
		}
		play := random.Pick(c.rng, plays...)
		w.after(play(c), nil, next)
	}
	w.after(8*time.Second, nil, next)
}

// missedWrites cuts the oldest off for a little longer than unwritten keys live, and not for so
// long that it is removed. Meanwhile the others write to the keys that expire, as the oldest sees
// it.
func missedWrites(c *chaos) time.Duration {
	w := c.w
	c.isolate(c.oldest())
	d := w.opt.ExpireAfter + time.Duration(random.Between(c.rng, int64(300*time.Millisecond), int64(3*time.Second)))
	w.after(d, nil, func() { w.net.Cut(nil) })
	return d + time.Duration(random.Between(c.rng, int64(3*time.Second), int64(8*time.Second)))
}

// The kinds of messages of the membership that decide a view, as they are on the wire.
const (
	kindCommit   = 8
	kindPrepare  = 9
	kindPrepared = 10
	kindAccept   = 11
	kindAccepted = 12
)

// missedJoin lets a node join, and keeps from the oldest how the ballot ends that it began: the
// others finish it, and have a view that the oldest does not have.
func missedJoin(c *chaos) time.Duration {
	w, slow := c.w, c.oldest().index
	w.trace.Fault(w, "CHAOS n%d misses a join", slow)
	asked := false // the oldest has asked them to accept
	w.net.LoseBy(func(from, to int, pk *network.Packet) bool {
		if pk.To != network.ToMember || len(pk.Payload) < 2 {
			return false
		}
		switch pk.Payload[1] {
		case kindAccept:
			asked = asked || from == slow
		case kindCommit, kindPrepared, kindAccepted:
			return asked && to == slow
		case kindPrepare:
			return asked && from == slow
		}
		return false
	})
	c.join()
	return time.Duration(random.Between(c.rng, int64(8*time.Second), int64(14*time.Second)))
}

// lateWords lets a node talk only to one friend and then crash. It holds up what the friend has to
// say about data until after the node has been removed.
func lateWords(c *chaos) time.Duration {
	w := c.w
	oldest, victim, friend := c.oldest(), c.slot(), c.slot()
	p := victim.proc
	if p == nil || friend.proc == nil || victim == friend || victim == oldest ||
		friend == oldest || p.mem.view == nil ||
		!p.mem.view.Has(view.UID(p.uid)) {
		return 100 * time.Millisecond
	}
	w.trace.Fault(w, "CHAOS only %v hears of %v", friend.proc, p)
	v, f, until := victim.index, friend.index, w.now+int64(15*time.Second)
	w.net.Cut(func(a, b int) bool { return a == v && b != f || b == v && a != f })
	w.net.HoldBy(func(from, to int) int64 {
		if from == f && to != v {
			return until
		}
		return 0
	})
	w.after(time.Duration(random.Between(c.rng, int64(time.Second), int64(3*time.Second))), nil, func() {
		w.net.Cut(nil)
		if p.alive && !w.healed {
			w.counts.Crashes++
			p.end("crash")
		}
	})
	w.after(17*time.Second, nil, func() {
		if !w.healed {
			w.restart(victim)
		}
	})
	return 20 * time.Second
}
