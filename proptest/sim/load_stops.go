package sim

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/network"
	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// rest is what the world knows of the rest of one shard.
type rest struct {
	quiet   bool  // nothing is sent to it
	holds   bool  // it was stopped for good, and was sent nothing since
	stops   int   // stops of it that have not ended, or have failed: they take place some time
	stopped int64 // when a stop of it has ended last
	sent    int64 // when something was sent to it last
	asks    int   // requests to passivate one of its entities that are under way
	// asked is when a region last asked for a home of it, for what was sent before.
	asked int64
}

// rest finds the rest of a shard.
func (j *shardChecker) rest(k home) *rest {
	if j.rests[k] == nil {
		j.rests[k] = &rest{}
	}
	return j.rests[k]
}

// end notes that the shard is sent something.
func (r *rest) end(w *World) { r.holds, r.sent = false, w.now }

// mayStop reports whether a process may begin a stop of the shard: for a request, or for one that was repeated before
// its answer came, and may have waited for the process to be resumed.
func (r *rest) mayStop(p *Process) bool {
	return r != nil && (r.stops > 0 ||
		r.stopped > 0 && p.w.now <= max(r.stopped, p.resumed)+2*latest(p.w)+int64(network.StraggleMost))
}

// stopShards is an operator that stops shards for good now and then. Nothing is sent to them any
// more. When all that was sent has ended, it says so to a region.
func (l *shardLoad) stopShards() {
	w := l.w
	if w.healed {
		return
	}
	w.after(time.Duration(random.Between(l.rngStops, int64(time.Second), int64(8*time.Second))), nil, l.stopShards)
	t := l.rngStops.IntN(w.opt.EntityTypes)
	var ks []home
	for range 1 + l.rngStops.IntN(3) {
		k := home{t, protocol.ShardID(l.rngStops.IntN(w.opt.Shards))}
		if r := w.shardChecker.rest(k); !r.quiet {
			r.quiet, ks = true, append(ks, k)
		}
	}
	again := func() {
		for _, k := range ks {
			w.shardChecker.rest(k).quiet = false
		}
	}
	if len(ks) == 0 || t == 0 && w.opt.Remember || len(w.live) == 0 {
		again()
		return
	}
	silence := time.Duration(random.Between(l.rngStops, 0, int64(2*time.Second)))
	if l.rngStops.IntN(2) == 0 {
		silence += time.Duration(latest(w)) // and no request for a home is under way
	}
	w.after(silence, nil, func() {
		var d *typeHost
		if len(w.live) > 0 {
			d = w.live[l.rngStops.IntN(len(w.live))].types[t]
		}
		if d == nil || !d.usable() {
			again()
			return
		}
		pause := time.Duration(random.Between(l.rngStops, 0, int64(6*time.Second)))
		d.p.rt.Enter(func() {
			l.stopNow(d, ks)
			w.after(pause, nil, again)
		})
	})
}

// stopNow stops shards, and judges that they rest. A stop waits for what mailboxes hold: while they may
// hold something the operator asks again. It sends nothing new to the shards, so they stop in the end.
func (l *shardLoad) stopNow(d *typeHost, ks []home) {
	w, p := l.w, d.p
	returned := false
	defer func() {
		if !returned { // the process ended
			for _, k := range ks {
				w.after(0, nil, func() { w.shardChecker.rest(k).quiet = false })
			}
		}
	}()
	var numbers []protocol.ShardID
	quiet, began := map[home]bool{}, w.now
	for _, k := range ks { // nothing was under way when the stop was asked for
		numbers, quiet[k] = append(numbers, k.shard), silent(w, k)
		w.shardChecker.rest(k).stops++
	}
	w.trace.Note(p, "OPERATOR stops shards %v of T%d", numbers, d.index)
	var err error
	for waits := true; waits; waits = waits && errors.Is(err, context.DeadlineExceeded) {
		waits = slices.ContainsFunc(ks, func(k home) bool { return underWay(w, k) })
		ctx, cancel := p.rt.WithTimeout(context.Background(), 40*time.Second)
		defer cancel()
		err = d.region.StopShards(ctx, numbers...)
	}
	returned = true
	if err != nil {
		if w.opt.Calm && p.usable() && !d.closing {
			w.violate("shards are stopped for good", "%v, shards %v of T%d: %v", p, numbers, d.index, err)
		}
		return
	}
	for _, k := range ks {
		r := w.shardChecker.rest(k)
		r.stops, r.stopped = r.stops-1, w.now
		// A stop may take so long that the world was healed meanwhile, and all entities were sent something.
		if quiet[k] && r.quiet && r.sent < began && silent(w, k) && w.now > r.asked+latest(w) {
			w.counts.Rested++
			r.holds = true
			for _, q := range w.live {
				if q.types[k.typ].shards[k.shard] != nil {
					w.violate("shards are stopped for good", "shard %v of T%d lives on %v", k.shard, k.typ, q)
				}
			}
		}
	}
}

// latest is longer than a request of a region is on its way. One that comes after the stop may give
// the shard a home or stop it again, as package sharding documents.
func latest(w *World) int64 { return int64(time.Second + 2*w.opt.Lag) }

// asksHome notes that a region asks for homes.
func (j *shardChecker) asksHome(w *World, typ int, shards []protocol.ShardID) {
	for _, s := range shards {
		j.rest(home{typ, s}).asked = w.now
	}
}

// silent reports whether nothing is under way to a shard, in a world in which that is known.
func silent(w *World, k home) bool {
	return options.Ordered(&w.opt) && w.shardChecker.rest(k).asks == 0 && !underWay(w, k)
}

// underWay reports whether a message to the shard has not ended.
func underWay(w *World, k home) bool {
	return slices.ContainsFunc(w.tells[w.shardChecker.done:], func(m *tell) bool {
		return m.typ == k.typ && m.shard == k.shard && m.fate == ""
	})
}

// checkRests holds a shard that was stopped for good to: it lives nowhere until it is sent
// something.
func (d *typeHost) checkRests(s protocol.ShardID) {
	w := d.p.w
	if r := w.shardChecker.rests[home{d.index, s}]; r != nil && r.holds {
		w.violate("a shard that was stopped rests until it is sent something",
			"shard %v of T%d starts on %v", s, d.index, d.p)
	}
}
