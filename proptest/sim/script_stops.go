package sim

import (
	"errors"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/proptest/sim/random"
)

// stopMost is how long all nodes may take to stop, and then to be up again.
const stopMost = 40 * time.Second

// stopSoon is how long nodes may still run after all have said that they have stopped. A node that
// waits for another one which is gone runs for longer than twenty seconds.
const stopSoon = 8 * time.Second

// stopping is one stop of all nodes at once.
type stopping struct {
	c      *chaos
	began  int64
	silent int64 // when all had said that they have stopped; 0 = not yet
	mute   bool  // what a process sends with its last step is lost, as when the connection for it has yet to be made
}

// playStops stops all nodes of the cluster at once, in order, again and again, and starts them again.
// In half of the rounds somebody is joining then, and in half of them the cluster is told that it
// shuts down. All must end soon, as nodes that have left, and come back.
func playStops(c *chaos) {
	var next func()
	next = func() {
		if w := c.w; !w.healed && w.now < int64(w.opt.Safety-2*stopMost) {
			s := &stopping{c: c, mute: c.rng.IntN(2) == 0}
			s.begin(func() {
				w.after(time.Duration(random.Between(c.rng, int64(3*time.Second), int64(10*time.Second))), nil, next)
			})
		}
	}
	c.w.after(time.Duration(random.Between(c.rng, int64(8*time.Second), int64(12*time.Second))), nil, next)
}

func (s *stopping) begin(done func()) {
	c, w := s.c, s.c.w
	if c.rng.IntN(2) == 0 {
		c.join()
	}
	if p := c.slot().proc; c.rng.IntN(2) == 0 && p != nil {
		p.mem.step(membership.CloseCluster{})
	}
	w.after(c.moment(), nil, func() {
		w.trace.Fault(w, "CHAOS stops all")
		s.began, w.stopping = w.now, s
		w.leases.Rest() // a node that leaves waits for a coordinator, and that for its lease
		w.counts.Stops++
		spread := random.Pick(c.rng, 0, 5*time.Millisecond, 50*time.Millisecond, 500*time.Millisecond)
		for _, p := range slices.Clone(w.live) {
			w.counts.Leaves++
			w.after(time.Duration(random.Between(c.rng, 0, int64(spread)+1)), p, p.leave)
		}
		w.eventually(s.over, func() { s.restart(done) })
	})
}

// over reports whether all have ended, and complains when that takes too long.
func (s *stopping) over() bool {
	w := s.c.w
	if len(w.live) == 0 || w.failed != nil {
		return true
	}
	if s.silent == 0 && !slices.ContainsFunc(w.live, func(p *Process) bool { return !p.mem.stopped }) {
		s.silent = w.now
	}
	if s.silent > 0 && w.now > s.silent+int64(stopSoon) || w.now > s.began+int64(stopMost) {
		w.violate("stop of all", "%d still run, the first is %v", len(w.live), w.live[0].mem.m)
	}
	return false
}

// ended checks how a process ends.
func (s *stopping) ended(p *Process, why error) {
	if errors.Is(why, membership.ErrDowned) {
		s.c.w.violate("stop of all", "%v did not leave: %v", p, why)
	}
}

func (s *stopping) restart(done func()) {
	c, w := s.c, s.c.w
	w.stopping = nil
	w.leases.Resume()
	w.trace.Fault(w, "CHAOS starts all again")
	for _, x := range w.slots { // all: their disks may be needed
		if x.started > 0 {
			w.after(time.Duration(random.Between(c.rng, 0, int64(3*time.Second))), nil, func() { c.startAgain(x) })
		}
	}
	end := w.now + int64(stopMost)
	w.eventually(func() bool { return w.live.allUp(w.opt.Nodes) || w.now > end }, func() {
		if !w.live.allUp(w.opt.Nodes) {
			w.violate("stop of all", "not all come back: %d run, the first is %v", len(w.live), w.live[0].mem.m)
		}
		done()
	})
}
