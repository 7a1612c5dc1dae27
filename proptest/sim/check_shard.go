package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/sequence"
	"github.com/coterie-go/coterie/proptest/sim/stall"
	"github.com/coterie-go/coterie/sharding/dataplane/lease"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// checkAlone holds an entity that starts, or starts a handler, to: no other process has it alive
// under a lease at this instant. A process that stands still counts as long as its clock says that
// it holds its lease, for no other process may rely on its sleep.
func (d *typeHost) checkAlone(h *hosting, id protocol.EntityID, handles bool) {
	w, p := d.p.w, d.p
	if !handles && !p.mem.holds(p.Time()) {
		return // it is started without a lease, and handles nothing until there is one
	}
	for _, q := range w.live {
		if q == p || !q.mem.holds(q.Time()) || len(q.types) <= d.index {
			continue
		}
		t := q.types[d.index]
		other := t.shards[protocol.ShardOf(id, t.t.Shards)] // where it would be there
		if other == nil {
			continue
		}
		if o := other.entities[id]; o != nil && (o.active || o.running > 0) {
			w.violate("no entity twice", "T%d/%s of shard %v runs on %v (%v) and on %v (%v)",
				d.index, id, h.shard, p, p.mem.m.Lease(), q, q.mem.m.Lease())
		}
	}
}

// checkLease holds a handler that starts to: its shard holds its lease, by what the store has.
func (d *typeHost) checkLease(s protocol.ShardID, id protocol.EntityID) {
	w := d.p.w
	if w.operator.leases.Shards(d.p.uid) && !w.leases.HeldBy(lease.ShardName("sim", d.t.Name, uint32(s)), d.p) {
		w.violate("no entity without its shard's lease", "T%d/%s of shard %v runs on %v", d.index, id, s, d.p)
	}
}

// checkReign holds a coordinator that acts to: it holds its lease, by what the store has, and no other
// process acts for the type at this instant. One that stands still counts, as it does for checkAlone.
func (d *typeHost) checkReign() {
	w := d.p.w
	for _, q := range w.live {
		if q == d.p || !d.acts || len(q.types) <= d.index || !q.types[d.index].acts {
			continue
		}
		if q.mem.holds(q.Time()) && d.p.mem.holds(d.p.Time()) {
			w.violate("one coordinator of a type", "T%d has one on %v, in %v, and one on %v, in %v", d.index,
				d.p, d.view, q, q.types[d.index].view)
		}
	}
	leased := w.operator.leases.Coordinators(d.p.uid)
	if leased && d.acts && !w.leases.HeldBy(lease.CoordinatorName("sim", d.t.Name), d.p) {
		w.violate("no coordinator without its lease", "that of T%d acts on %v", d.index, d.p)
	}
}

// checkKept holds a shard to its part of the limit: so many entities that were used and have not
// been asked to stop.
func (d *typeHost) checkKept(s protocol.ShardID) {
	if !d.limited {
		return
	}
	shard := d.plane.R.Routes.Hosted[s].Load()
	if shard == nil {
		return
	}
	if k := shard.Passivator.Explain(nil); k.Kept > k.Limit {
		d.p.w.violate("entities are held below the limit", "%v: shard %v of T%d keeps %d, and may keep %d",
			d.p, s, d.index, k.Kept, k.Limit)
	}
}

// handled marks a message as handled and holds it to the order of its sender.
func (w *World) handled(p *Process, m *tell) {
	w.counts.Told++
	w.trace.Fold(7, uint64(m.id), p.uid)
	w.trace.Entity(p, m.typeName(), string(m.entity), "HANDLES %v", m)
	if p.slot.leaving && m.at <= int64(w.opt.Safety+stall.AfterHeal) {
		w.stalls.Drains(w.now)
	}
	all := w.shardChecker.mailOf(m.typ, m.entity)
	switch {
	case m.fate == "":
		all.ended++
	case m.fate == handledFate:
		w.violate("handled once", "%v is handled again, by %v", m, p)
	case m.fate == encodedFate: // it was another that was dropped
		all.dropped++
	case strings.HasPrefix(m.fate, refusedFate):
		w.violate("what is refused is not handled", "%v is handled by %v, and its sender was told: %s", m, p, m.fate)
	}
	m.fate, all.forgotten = handledFate, false
	k := sequence.Stream{From: m.from.uid, Type: m.typ, Entity: m.entity}
	last, ok := w.shardChecker.order.Handle(k, sequence.Shard{Type: m.typ, Number: m.shard}, m.seq, m.at)
	if !ok || w.opt.Calm && m.seq != last+1 {
		w.violate("hand-off keeps order", "%v handles %v after seq %d of the same sender", p, m, last)
	}
}

// order names the messages of one sender to one entity.
type order struct {
	from   uint64
	typ    int
	entity protocol.EntityID
}

// shardChecker follows every message to its end.
type shardChecker struct {
	begun  map[begun]bool     // hand-offs that have begun, likewise
	unable map[complaint]bool // and not been moved since
	mail   map[order]*mail    // by entity; only looked up
	rests  map[home]*rest     // shards that were stopped for good; only looked up
	order  sequence.Judge
	done   int   // messages before that one have ended
	until  int64 // clients still passivate entities of the healed world
}

func (*shardChecker) name() string   { return "entities" }
func (*shardChecker) after(w *World) { checkBounds(w) }

// open is the first message whose end is not known; nil: there is none.
func (j *shardChecker) open(w *World) *stall.Lack {
	for j.done < len(w.tells) {
		m := w.tells[j.done]
		if m.fate == "" && w.now > m.at+int64(time.Minute) && j.mailOf(m.typ, m.entity).dropped > 0 {
			j.mailOf(m.typ, m.entity).dropped--
			w.end(m, encodedFate)
		}
		if m.fate == "" {
			break
		}
		j.done++
	}
	for _, m := range w.tells[j.done:] {
		if m.fate == "" {
			return stall.Lacks("%v, sent at %.6f, is neither handled nor reported", m, float64(m.at)/1e9)
		}
	}
	return nil
}

func (j *shardChecker) settled(w *World) bool {
	return w.now > j.until && j.open(w) == nil && j.homeless(w) == nil && (w.opt.Shards == 0 || unbalanced(w) == "") &&
		w.live.overfull() == "" && !awake(w) && misremembered(w) == "" && astray(w) == ""
}

// homeless is the first shard that has had traffic after the healing and is not hosted by exactly
// one live process; nil: there is none.
func (j *shardChecker) homeless(w *World) *stall.Lack {
	if w.opt.Shards == 0 {
		return nil
	}
	if !w.probedShards {
		return stall.Said("nothing was sent yet")
	}
	for t := range w.opt.EntityTypes {
		for s := range protocol.ShardID(w.opt.Shards) {
			if !w.addressed[s] {
				continue
			}
			hosts := 0
			for _, p := range w.live {
				if p.types[t].shards[s] != nil {
					hosts++
				}
			}
			if r := j.rest(home{t, s}); hosts == 0 && (r.stops > 0 || r.stopped > r.sent) {
				continue
			}
			if hosts != 1 {
				return stall.Lacks("shard %v of T%d has %d hosts", s, t, hosts)
			}
		}
	}
	return nil
}

func (j *shardChecker) finish(w *World) {
	for _, x := range []struct{ check, missed string }{
		{"every message ends", j.open(w).String()}, {"every shard has a home", j.homeless(w).String()},
		{"entities are held below the limit", w.live.overfull()}, {"idle entities are passivated", overstaying(w)},
		{"what is remembered runs, and nothing else", misremembered(w)},
		{"every route leads home", astray(w)},
	} {
		if x.missed != "" {
			w.violate(x.check, "%s", x.missed)
		}
	}
	if w.opt.Shards > 0 {
		if u := unbalanced(w); u != "" {
			w.violate("the balance is reached", "%T: %s", w.opt.Allocation, u)
		}
	}
	if !w.opt.Calm {
		return
	}
	for _, m := range w.tells {
		if m.fate != handledFate && !strings.HasPrefix(m.fate, refusedFate) {
			w.violate("hand-off loses nothing", "%v: %s", m, m.fate)
			return
		}
	}
}

// overfull is a shard of the healed world with more active entities than it may have, when there
// was time to stop them.
func (ps processes) overfull() string {
	for _, p := range ps {
		for _, d := range p.types {
			if !d.limited || d.plane == nil {
				continue
			}
			share := int(d.plane.R.Entities.Passivations.Share.Load())
			for _, s := range d.hosted() {
				if n := d.shards[s].active(); n > share {
					return fmt.Sprintf("%v: shard %v of T%d has %d active entities, and may have %d",
						p, s, d.index, n, share)
				}
			}
		}
	}
	return ""
}
