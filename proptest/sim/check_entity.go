package sim

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// mail is what the world knows of all messages to one entity.
type mail struct {
	sent, ended uint64 // how many there were, and how many of them have a fate
	dropped     int    // drops that have not said which message it was, and are not given to one yet
	// forgotten: its shard has taken it out of what is remembered, with this many sent, and no message
	// was handled since.
	forgotten bool
	then      uint64
}

// mailOf finds the mail of an entity.
func (j *shardChecker) mailOf(typ int, id protocol.EntityID) *mail {
	k := order{typ: typ, entity: id}
	if j.mail[k] == nil {
		j.mail[k] = &mail{}
	}
	return j.mail[k]
}

// soonMost is longer than a process takes to carry out what it has decided.
const soonMost = 5 * time.Millisecond

// passivates holds a passivation for idleness to: no message was handled for so long. What a worker
// took up after that was decided does not count.
func (d *typeHost) passivates(h *hosting, in protocol.Passivate) {
	w := d.p.w
	switch in.Cause {
	case protocol.CauseLimit:
		w.counts.Evicted++
	case protocol.CauseIdle:
		w.counts.Idled++
		l := h.life(in.ID)
		idle := time.Duration(w.now - l.used)
		least := time.Duration(float64(w.opt.IdleTimeout) * (1 - 2*w.opt.ClockDrift))
		if idle < least && idle > soonMost && !d.p.behind {
			w.violate("only idle entities are passivated", "%v passivates T%d/%s after %v, %d handlers run",
				d.p, d.index, in.ID, idle, l.running)
		}
	}
}

// writes notes which ids a shard takes out of what is remembered.
func (d *typeHost) writes(h *hosting, all []protocol.StateWrite) {
	for _, x := range all {
		if x.Kind == protocol.StateIDs && len(x.RemoveIDs) > 0 {
			h.forgets[x.ID] = slices.Clone(x.RemoveIDs)
		}
	}
}

// wrote notes what a majority has forgotten.
func (d *typeHost) wrote(h *hosting, in protocol.Wrote) {
	if in.Err != nil {
		return
	}
	for _, id := range h.forgets[in.ID] {
		m := d.p.w.shardChecker.mailOf(d.index, id)
		m.forgotten, m.then = true, m.sent
		d.p.w.counts.Forgotten++
	}
	delete(h.forgets, in.ID)
}

// checkAwake holds a remembered entity that starts to: if it was passivated, it was told something
// since. Where messages may end in a way that no sender hears of, a message may be under way.
func (d *typeHost) checkAwake(h *hosting, id protocol.EntityID) {
	w := d.p.w
	m := w.shardChecker.mailOf(d.index, id)
	if options.Ordered(&w.opt) && d.t.Remember.Entities && m.forgotten && m.sent == m.then && m.ended == m.sent {
		w.violate("a passivated entity rests until it is told something",
			"%v starts T%d/%s of shard %v", d.p, d.index, id, h.shard)
	}
}

// overstaying is an entity of the healed world that was not passivated although it was idle for too
// long.
func overstaying(w *World) string {
	most := w.opt.IdleTimeout*2 + w.opt.IdleTimeout/10 + 100*time.Millisecond
	for _, p := range w.live {
		for _, d := range p.types {
			if !d.idles {
				continue
			}
			for _, s := range d.hosted() {
				for id, l := range d.shards[s].entities { // order: any of them
					if idle := time.Duration(w.now - l.used); l.active && !l.stopping && l.running == 0 && idle > most {
						return fmt.Sprintf("%v: T%d/%s was idle for %v", p, d.index, id, idle)
					}
				}
			}
		}
	}
	return ""
}

// awake reports whether an entity of the healed world runs that will be passivated for idleness.
func awake(w *World) bool {
	for _, p := range w.live {
		for _, d := range p.types {
			for _, s := range d.hosted() {
				if d.idles && d.shards[s].active() > 0 {
					return true
				}
			}
		}
	}
	return false
}

// misremembered is an entity of the healed world that is remembered and does not run, or runs and is
// not remembered.
func misremembered(w *World) string {
	if w.opt.Shards == 0 || !w.opt.Remember {
		return ""
	}
	for s := range protocol.ShardID(w.opt.Shards) {
		ids, err := w.remembered(s)
		if err != nil {
			return err.Error()
		}
		runs := map[protocol.EntityID]bool{}
		for _, p := range w.live {
			if h := p.types[0].shards[s]; h != nil {
				for id, l := range h.entities { // order: a set
					runs[id] = runs[id] || l.active
				}
			}
		}
		for _, id := range ids {
			if !runs[id] {
				return fmt.Sprintf("T0/%s of shard %v is remembered and does not run", id, s)
			}
		}
		for id, is := range runs { // order: any of them
			if is && !slices.Contains(ids, id) {
				return fmt.Sprintf("T0/%s of shard %v runs and is not remembered", id, s)
			}
		}
	}
	return ""
}

// remembered are the ids of the first type that are kept of a shard.
func (w *World) remembered(s protocol.ShardID) ([]protocol.EntityID, error) {
	if ids, outside := w.ledgers.Remembered(typeName(0), s); outside {
		return slices.Sorted(maps.Keys(ids)), nil
	}
	all := w.replicasOf(reserved(w.opt.RoleOfType(0)))
	if len(all) == 0 {
		return nil, nil // and nothing of the type runs
	}
	ids, err := protocol.IDsSet{}.View(all[0].view(protocol.StateKey(typeName(0), protocol.StateIDs, s)))
	return slices.Collect(ids.All()), err
}

// astray is a route of the healed world that leads to a node which does not host its shard.
func astray(w *World) string {
	for _, p := range w.live {
		for _, d := range p.types {
			if d.closing {
				continue
			}
			for s := range protocol.ShardID(w.opt.Shards) {
				r := d.routes[s]
				if r.State != protocol.RouteRemote {
					continue
				}
				if q := w.procs[uint64(r.Home)]; q == nil || !q.alive || q.types[d.index].shards[s] == nil {
					return fmt.Sprintf("%v sends what is for shard %v of T%d to %v", p, s, d.index, r.Home)
				}
			}
		}
	}
	return ""
}

// questions counts what a region's clients have asked, and the answers that found no question.
type questions struct{ asked, answered, late uint64 }

func (q *questions) answer() { q.answered++ }

// checkAnswers holds the answers that came too late to: each question has at most one answer.
func (d *typeHost) checkAnswers() {
	if q := d.questions; q.late > q.asked-q.answered {
		d.p.w.violate("a question has one answer",
			"%v has had %d late answers of T%d, and %d of %d questions were answered",
			d.p, q.late, d.index, q.answered, q.asked)
	}
}
