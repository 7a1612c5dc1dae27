package sim

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// leaser carries out, one after the other, what the machines of one process want of one lease. It
// outlives them, so that what one gives back the next can acquire.
type leaser struct {
	p    *Process
	name leaseName
	ops  []leaseOp
	busy bool
	term *term // the present hold
}

// leaseOp is one thing to do: an acquisition tells what came of it; without tell it is a release,
// which waits until quiet.
type leaseOp struct {
	gen   uint64
	tell  func(*term, any)
	quiet func() bool // nil: nothing is waited for
	done  func()      // of a release; nil: nothing waits for it
}

func (p *Process) newLeaser(name leaseName) *leaser { return &leaser{p: p, name: name} }

func (l *leaser) acquire(gen uint64, tell func(*term, any)) { l.put(leaseOp{gen: gen, tell: tell}) }

// release leaves out an acquisition that has not begun.
func (l *leaser) release(quiet func() bool, done func()) {
	l.ops = slices.DeleteFunc(l.ops, func(o leaseOp) bool { return o.tell != nil })
	l.put(leaseOp{quiet: quiet, done: done})
}

func (l *leaser) put(op leaseOp) {
	l.ops = append(l.ops, op)
	if !l.busy {
		l.run()
	}
}

func (l *leaser) run() {
	l.busy = len(l.ops) > 0
	if !l.busy {
		return
	}
	op := l.ops[0]
	l.ops = l.ops[1:]
	switch {
	case op.tell != nil:
		l.take(op)
	case op.quiet != nil && !op.quiet():
		l.ops = slices.Insert(l.ops, 0, op)
		l.p.w.after(5*time.Millisecond, l.p, l.run)
	default:
		l.giveBack(func() {
			if op.done != nil {
				op.done()
			}
			l.run()
		})
	}
}

// patience is how long one call of the store may take.
const patience = 5 * time.Second

// take tries once. After an error the lease may be held or not, so it is given back.
func (l *leaser) take(op leaseOp) {
	p, w := l.p, l.p.w
	x := p.openSession()
	t := &term{session: x}
	t.onLost = func(text string) { op.tell(nil, protocol.LeaseLost{Gen: op.gen, Text: text}) }
	answer := func(in any, held *term) {
		l.term = held
		if held != nil {
			x.terms = append(slices.DeleteFunc(x.terms, func(t *term) bool { return t.closed }), held)
		}
		op.tell(held, in)
		l.run()
	}
	failed := func(after time.Duration) {
		w.after(after, p, func() {
			l.term = t
			l.giveBack(func() { answer(protocol.LeaseRefused{Gen: op.gen, Text: "the store cannot be reached"}, nil) })
		})
	}
	w.after(w.leases.delay(), nil, func() {
		if !w.leases.reaches(p) {
			failed(time.Duration(between(w.leases.rng, 0, int64(patience))))
			return
		}
		got := w.leases.acquire(l.name, x, t)
		if !w.healed && w.leases.rng.IntN(30) == 0 {
			failed(time.Duration(between(w.leases.rng, 0, int64(patience))))
			return
		}
		w.after(w.leases.delay(), p, func() {
			switch {
			case got && t.open():
				answer(protocol.LeaseGranted{Gen: op.gen}, t)
			case got: // it was over before anybody knew
				l.term = t
				l.giveBack(func() { answer(protocol.LeaseRefused{Gen: op.gen, Text: "its time has passed"}, nil) })
			default:
				answer(protocol.LeaseRefused{Gen: op.gen}, nil)
			}
		})
	})
}

// giveBack ends the present hold. If the store does not hear of it the lease ends with the
// process's session, or some time later.
func (l *leaser) giveBack(done func()) {
	w, t := l.p.w, l.term
	l.term = nil
	t.close()
	if t == nil {
		done()
		return
	}
	w.after(w.leases.delay(), nil, func() {
		if h := w.leases.holds[l.name]; h != nil && h.term == t {
			h.term = nil
			if w.leases.reaches(l.p) {
				w.leases.free(l.name, h)
			} else {
				w.after(max(patience, w.opt.LeaseTTL), nil, func() { w.leases.free(l.name, h) })
			}
		}
		w.after(w.leases.delay(), l.p, done)
	})
}

// leaserOf finds the one of a shard's lease.
func (d *typeDriver) leaserOf(s protocol.ShardID) *leaser {
	if d.leasers[s] == nil {
		d.leasers[s] = d.p.newLeaser(leaseName{typ: d.index, shard: s})
	}
	return d.leasers[s]
}

// leaseOp carries out what a Shard wants of its lease.
func (r *shardRun) leaseOp(op protocol.LeaseOp) {
	l := r.d.leaserOf(r.shard)
	if !op.Acquire {
		r.term.close()
		l.release(nil, func() { r.d.p.post(func() { r.step(protocol.LeaseReleased{Gen: op.Gen}) }) })
		return
	}
	l.acquire(op.Gen, func(t *term, in any) {
		r.d.p.post(func() {
			if t != nil {
				r.term = t
			}
			r.step(in.(protocol.ShardInput))
		})
	})
}

// retire gives back the lease of a shard that was killed, when none of its handlers runs and none
// of its writes is under way.
func (r *shardRun) retire() {
	if !r.d.cfg.Leases.Shards.Given() {
		return
	}
	r.term.close()
	r.d.leaserOf(r.shard).release(func() bool {
		return r.writing == 0 && !slices.ContainsFunc(r.boxes, func(b *box) bool { return b.running })
	}, nil)
}

// allowed reports whether the shard's own lease lets it act at this moment.
func (r *shardRun) allowed() bool {
	return !r.d.cfg.Leases.Shards.Given() || r.d.defects.ungated || r.term.open()
}

// coordLeaseOp carries out what the Coordinator wants of its lease.
func (d *typeDriver) coordLeaseOp(op protocol.LeaseOp) {
	if !op.Acquire {
		d.coordTerm.close()
		d.coordTerm = nil
		d.coordLeaser.release(nil, nil)
		return
	}
	d.coordLeaser.acquire(op.Gen, func(t *term, in any) {
		d.p.post(func() {
			if t != nil {
				d.coordTerm, d.coordGen = t, op.Gen
			}
			d.stepCoord(in.(protocol.CoordinatorInput))
		})
	})
}

// expelled has the Coordinator know that its lease is lost before anything else, if it is.
func (d *typeDriver) expelled() {
	if d.coordTerm == nil || d.defects.lateExpelled || d.coordTerm.open() {
		return
	}
	d.coordTerm = nil
	d.applyCoord(protocol.LeaseLost{Gen: d.coordGen, Text: "its time has passed"})
}
