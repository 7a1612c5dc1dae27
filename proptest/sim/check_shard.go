package sim

import (
	"fmt"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// checkAlone holds an entity that starts, or starts a handler, to: no other process has it alive
// under a lease at this instant. A process that stands still counts as long as its clock says that
// it holds its lease, for no other process may rely on its sleep.
func (r *shardRun) checkAlone(b *box, handles bool) {
	w, p := r.d.p.w, r.d.p
	if !handles && !p.mem.holds(p.time()) {
		return // it is started without a lease, and handles nothing until there is one
	}
	for _, q := range w.live {
		if q == p || !q.mem.holds(q.time()) || len(q.shard.types) <= r.d.index {
			continue
		}
		other := q.shard.types[r.d.index].shards[r.shard]
		if other == nil {
			continue
		}
		if o := other.byID[b.id]; o != nil && (o.active || o.running) {
			w.violate("no entity twice", "T%d/%s of shard %v runs on %v (%v) and on %v (%v)",
				r.d.index, b.id, r.shard, p, p.mem.m.Lease(), q, q.mem.m.Lease())
		}
	}
}

// checkLease holds a handler that starts to: its shard holds its lease, by what the store has.
func (r *shardRun) checkLease(b *box) {
	if w := r.d.p.w; r.d.cfg.Leases.Shards.Given() &&
		!w.leases.heldBy(leaseName{typ: r.d.index, shard: r.shard}, r.term) {
		w.violate("no entity without its shard's lease", "T%d/%s of shard %v runs on %v",
			r.d.index, b.id, r.shard, r.d.p)
	}
}

// checkReign holds a coordinator that acts to: it holds its lease, by what the store has.
func (d *typeDriver) checkReign() {
	if w := d.p.w; d.cfg.Leases.Coordinator.Given() && d.coord.Acts() &&
		!w.leases.heldBy(leaseName{typ: d.index, coord: true}, d.coordTerm) {
		w.violate("no coordinator without its lease", "that of T%d acts on %v", d.index, d.p)
	}
}

// end marks how a message ended without being handled.
func (w *World) end(m *tell, fate string) {
	if m.fate == "" {
		m.fate = fate
		w.trace.line(w, "%v ENDS: %s", m, fate)
	}
}

// handled marks a message as handled and holds it to the order of its sender.
func (w *World) handled(p *Process, m *tell) {
	w.counts.Told++
	w.trace.fold(7, uint64(m.id), p.uid)
	w.trace.line(p, "HANDLES %v", m)
	if m.fate == "handled" {
		w.violate("handled once", "%v is handled again, by %v", m, p)
	}
	m.fate = "handled"
	k := order{m.from.uid, m.typ, m.entity}
	last := w.shardChecker.last[k]
	if calm := w.opt.Calm || w.opt.Scenario == closedTypes; m.seq <= last || w.opt.Calm && m.seq != last+1 {
		if calm {
			w.violate("hand-off keeps order", "%v handles %v after seq %d of the same sender", p, m, last)
		}
	}
	w.shardChecker.last[k] = max(last, m.seq)
}

// order names the messages of one sender to one entity.
type order struct {
	from   uint64
	typ    int
	entity protocol.EntityID
}

// shardChecker follows every message to its end.
type shardChecker struct {
	last   map[order]uint64   // only looked up
	begun  map[begun]bool     // hand-offs that have begun, likewise
	unable map[complaint]bool // and not been moved since
}

func (*shardChecker) name() string { return "entities" }

func (*shardChecker) after(*World) {}

// gone ends what died with a process: its buffers, its mailboxes, and what was on its way to it.
func (j *shardChecker) gone(w *World, p *Process) {
	for _, m := range w.tells[w.tellsDone:] {
		if m.to == p {
			w.end(m, "on its way to "+p.String()+", which ended")
		}
	}
	for _, d := range p.shard.types {
		for s := range protocol.ShardID(d.cfg.Shards) {
			for _, m := range d.buffers[s] {
				w.end(m, "died with "+p.String())
			}
			d.closeShard(s, "died with "+p.String())
		}
	}
}

// open is the first message whose end is not known.
func (j *shardChecker) open(w *World) string {
	for w.tellsDone < len(w.tells) && w.tells[w.tellsDone].fate != "" {
		w.tellsDone++
	}
	for _, m := range w.tells[w.tellsDone:] {
		if m.fate == "" {
			return fmt.Sprintf("%v, sent at %.6f, is neither handled nor reported", m, float64(m.at)/1e9)
		}
	}
	return ""
}

func (j *shardChecker) settled(w *World) bool {
	return j.open(w) == "" && j.homeless(w) == "" && (w.opt.Shards == 0 || w.unbalanced() == "") && w.overfull() == ""
}

// homeless is the first shard that has had traffic after the healing and is not hosted by exactly
// one live process.
func (j *shardChecker) homeless(w *World) string {
	if w.opt.Shards == 0 {
		return ""
	}
	if !w.probedShards {
		return "nothing was sent yet"
	}
	for t := range w.opt.EntityTypes {
		for s := range protocol.ShardID(w.opt.Shards) {
			if !w.addressed[s] {
				continue
			}
			hosts := 0
			for _, p := range w.live {
				if p.shard.types[t].shards[s] != nil {
					hosts++
				}
			}
			if hosts != 1 {
				return fmt.Sprintf("shard %v of T%d has %d hosts", s, t, hosts)
			}
		}
	}
	return ""
}

func (j *shardChecker) finish(w *World) {
	if open := j.open(w); open != "" {
		w.violate("every message ends", "%s", open)
	}
	if h := j.homeless(w); h != "" {
		w.violate("every shard has a home", "%s", h)
	}
	if w.opt.Shards > 0 {
		if u := w.unbalanced(); u != "" {
			w.violate("the balance is reached", "%T: %s", w.opt.Allocation, u)
		}
	}
	if o := w.overfull(); o != "" {
		w.violate("entities are held below the limit", "%s", o)
	}
	if !w.opt.Calm {
		return
	}
	for _, m := range w.tells {
		if m.fate != "handled" {
			w.violate("hand-off loses nothing", "%v: %s", m, m.fate)
			return
		}
	}
}
