package sim

import (
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/proptest/sim/random"
)

// chaos injects the faults of the safety phase, and heals the world at its end.
type chaos struct {
	w        *World
	rng      *rand.Rand
	flapping flapping
	injected int // faults so far
	// onInstall, when set by a script, sees every view that is installed.
	onInstall func(*view.View)
}

func newChaos(w *World) *chaos {
	rng := w.rs.Stream("chaos", 0)
	return &chaos{w: w, rng: rng, flapping: flapping{w: w, rng: rng}}
}

// next injects one fault and schedules the one after it.
func (c *chaos) next() {
	if c.w.healed {
		return
	}
	total := 0
	for _, n := range c.w.opt.Weights {
		total += n
	}
	if total > 0 {
		k := c.rng.IntN(total)
		for f, n := range c.w.opt.Weights {
			if k -= n; k < 0 {
				c.inject(options.Fault(f))
				break
			}
		}
	}
	if c.rng.IntN(4) == 0 {
		c.w.net.Cut(nil)
	}
	c.w.at(c.w.now+random.Between(c.rng, int64(c.w.opt.ChaosMin), int64(c.w.opt.ChaosMax)), nil, c.next)
}

// inject makes one fault happen.
func (c *chaos) inject(f options.Fault) {
	w := c.w
	if c.injected++; w.opt.FaultsMax > 0 && c.injected > w.opt.FaultsMax {
		return
	}
	w.counts.Faults[f]++
	w.trace.Fold(4, uint64(f))
	w.trace.Fault(w, "CHAOS %v", f)
	switch f {
	case options.Split:
		w.net.Cut(c.groups(2 + c.rng.IntN(2)))
	case options.Isolate:
		c.isolate(c.slot())
	case options.IsolateOldest:
		c.isolate(c.oldest())
	case options.OneWay:
		c.oneWay()
	case options.Partial:
		a, b := c.slot().index, c.slot().index
		w.net.Cut(func(from, to int) bool { return from == a && to == b || from == b && to == a })
	case options.Mend:
		w.net.Cut(nil)
	case options.Crash:
		c.crash(c.slot())
	case options.CrashOldest:
		c.crash(c.oldest())
	case options.CrashAll:
		c.crashAll()
	case options.Flap:
		c.flapping.begin(c.ways())
	default:
		c.injectInProcess(f)
	}
}

// injectInProcess makes the faults happen that need a running process.
func (c *chaos) injectInProcess(f options.Fault) {
	w := c.w
	switch f {
	case options.Join:
		c.join()
		return
	case options.DiskLies, options.DiskTears:
		c.misbehave(w.slots[w.opt.Bad-1], f)
		return
	}
	slot := c.slot()
	if f == options.FreezeOldest {
		slot = c.oldest()
	}
	p := slot.proc
	if p == nil {
		return
	}
	switch f {
	case options.Freeze, options.FreezeOldest:
		c.freeze(p, time.Duration(random.Between(c.rng, int64(100*time.Millisecond), int64(40*time.Second))))
	case options.Suspend:
		d := time.Duration(random.Between(c.rng, int64(2*time.Second), int64(30*time.Second)))
		if d = min(d, w.opt.Safety-time.Duration(w.now)); !p.frozen { // its clock stands still only as long as it does
			p.mem.step(membership.Tick{}) // the last step before it, after any wall jump
			p.pause(d)
			p.clock.Suspend(d)
		}
	case options.Leave:
		c.leave(p)
	case options.OperatorDown:
		if q := c.slot().proc; q != nil && c.rng.IntN(3) == 0 {
			p.mem.down(q.uid)
		}
	case options.DiskStall:
		slot.disk.Stall(w.now + random.Between(c.rng, int64(time.Second), int64(10*time.Second)))
	case options.DiskFull:
		slot.disk.Fill(w.now + random.Between(c.rng, int64(100*time.Millisecond), int64(10*time.Second)))
	case options.DiskUnread: // which a start finds out
		slot.disk.FailReads(w.now + random.Between(slot.disk.Faults(),
			int64(100*time.Millisecond), int64(15*time.Second)))
		c.crash(slot)
	case options.DiskTable:
		slot.disk.FailTable(w.now + random.Between(slot.disk.Faults(),
			int64(100*time.Millisecond), int64(10*time.Second)))
	case options.DiskRecord:
		slot.disk.FailRecord(w.now + random.Between(slot.disk.Faults(),
			int64(100*time.Millisecond), int64(20*time.Second)))
	case options.HaltInStep:
		most := random.Pick(c.rng, 50*time.Millisecond, 2*time.Second, 15*time.Second)
		p.haltSoon(1+c.rng.IntN(8), time.Duration(random.Between(c.rng, int64(time.Millisecond), int64(most))))
	case options.WakeJump:
		c.wakeJump(p)
	case options.ConnectionReset:
		if q := c.slot().proc; q != nil && q != p {
			w.net.ResetBetween(p, q)
		}
	case options.WallJump:
		d := random.Between(c.rng, -int64(10*time.Second), int64(10*time.Second))
		// back, it might hide a suspend: the one assumption is that either clock shows how much
		// time has passed
		if p.frozen {
			d = max(d, -d)
		}
		p.clock.Jump(time.Duration(d))
	}
}

// wakeJump suspends a process, while its wall clock jumps forward. Once the process has taken a step
// after that, its wall clock jumps again. A suspend for less than the driver takes notice of is
// shown by the wall clock alone, which then must not go back: such suspends are for worlds without
// jumps back.
func (c *chaos) wakeJump(p *Process) {
	if p.frozen {
		return
	}
	r, least := c.rng, -10*time.Second
	d := time.Duration(random.Between(r, int64(1100*time.Millisecond), int64(20*time.Second)))
	if c.w.opt.Weights[options.WallJump] == 0 {
		least = 0
		if r.IntN(2) == 0 {
			d = time.Duration(random.Between(r, int64(50*time.Millisecond), int64(950*time.Millisecond)))
		}
	}
	d = min(d, c.w.opt.Safety-time.Duration(c.w.now)) // it sleeps to the end, whatever heals
	p.mem.step(membership.Tick{})                     // as in a suspend
	p.pause(d)
	p.clock.Suspend(d)
	p.clock.Jump(time.Duration(random.Between(r, 0, int64(5*time.Second))))
	then := time.Duration(random.Between(r, int64(least), int64(10*time.Second)))
	c.w.after(d+time.Millisecond, p, func() {
		if !p.frozen {
			p.mem.step(membership.Tick{})
			p.clock.Jump(then)
		}
	})
}

// misbehave has the bad disk of the world lie for a while, or tear what it writes. Its power is cut
// soon, and sometimes that of all.
func (c *chaos) misbehave(s *Slot, f options.Fault) {
	r, most := s.disk.Faults(), 20*time.Second
	if f == options.DiskTears {
		s.disk.Tear(c.w.now + int64(3*time.Second))
		most = 3 * time.Second
	} else {
		s.disk.Lie(c.w.now + random.Between(r, int64(time.Second), int64(30*time.Second)))
	}
	all := r.IntN(3) == 0
	c.w.after(time.Duration(random.Between(r, int64(50*time.Millisecond), int64(most))), nil, func() {
		switch {
		case c.w.healed || s.proc == nil:
		case all:
			c.crashAll()
		default:
			c.crash(s)
		}
	})
}

// freeze pauses a process, and sometimes all that run, as when their one machine is starved or its
// hypervisor snapshots them.
func (c *chaos) freeze(p *Process, d time.Duration) {
	if c.rng.IntN(6) > 0 {
		p.pause(d)
		return
	}
	c.w.trace.Fault(c.w, "FREEZE ALL")
	for _, q := range c.w.live {
		q.pause(d)
	}
}

// slot draws one of the slots that are in use.
func (c *chaos) slot() *Slot { return c.w.slots[c.rng.IntN(len(c.w.slots))] }

// oldest is the slot that acts as the oldest, else any.
func (c *chaos) oldest() *Slot {
	for _, p := range c.w.live {
		if p.mem.proposing(p.Time()) {
			return p.slot
		}
	}
	return c.slot()
}

func (c *chaos) groups(parts int) func(a, b int) bool {
	group := make([]int, len(c.w.slots))
	for i := range group {
		group[i] = c.rng.IntN(parts)
	}
	return func(a, b int) bool { return group[a] != group[b] }
}

func (c *chaos) isolate(s *Slot) {
	x := s.index
	c.w.net.Cut(func(a, b int) bool { return a == x || b == x })
}

func (c *chaos) oneWay() {
	bad := c.someWays()
	c.w.net.Cut(func(a, b int) bool { return bad[a]>>b&1 == 1 })
}

// crash kills a process and mostly restarts it, at once or later, as a new incarnation on the same
// disk.
func (c *chaos) crash(s *Slot) {
	if s.proc == nil {
		c.w.restart(s)
		return
	}
	c.w.counts.Crashes++
	s.disk.CutPower()
	s.proc.end("crash")
	switch c.rng.IntN(4) {
	case 0: // stays down until chaos or healing brings it back
	case 1:
		c.w.restart(s)
	default:
		c.w.after(time.Duration(random.Between(c.rng, 0, int64(15*time.Second))), nil, func() { c.w.restart(s) })
	}
}

// crashAll stops everything at once and starts it again, some of it sooner.
func (c *chaos) crashAll() {
	for _, s := range c.w.slots {
		if s.proc == nil {
			continue
		}
		c.w.counts.Crashes++
		s.disk.CutPower()
		s.proc.end("crash of all")
		c.w.after(time.Duration(random.Between(c.rng, 0, int64(6*time.Second))), nil, func() { c.w.restart(s) })
	}
}

// startAgain starts a node on a slot whose node has left, or was killed.
func (c *chaos) startAgain(s *Slot) {
	s.retired = false
	if s.proc == nil {
		c.w.counts.Restarts++
		c.w.startProcess(s)
	}
}

// moment is a short while, of any order of magnitude.
func (c *chaos) moment() time.Duration {
	most := random.Pick(c.rng, 2*time.Millisecond, 20*time.Millisecond, 100*time.Millisecond, 500*time.Millisecond)
	return time.Duration(random.Between(c.rng, 0, int64(most)))
}

// restart starts a process on a slot that has none, unless its node left for good. An operator that stops
// all nodes has no supervisor start one meanwhile.
func (w *World) restart(s *Slot) {
	if s.proc == nil && !s.retired && s.started > 0 && w.stopping == nil {
		w.counts.Restarts++
		w.startProcess(s)
	}
}

func (c *chaos) join() {
	for _, s := range c.w.slots {
		if s.proc == nil && !s.retired {
			c.w.counts.Joins++
			c.w.startProcess(s)
			return
		}
	}
}

// leave lets a node go gracefully, as long as others stay. A member that has no view is not sent
// away: what it knows may be needed to found the cluster anew. The last node of a role stays: it
// has no other to hand its data to.
func (c *chaos) leave(p *Process) {
	if c.w.slots.staying() <= 2 || p.slot.leaving || p.mem.view == nil && p.slot.wasMember() || c.w.isLast(p) {
		return
	}
	c.w.counts.Leaves++
	p.leave()
}
