package replicator

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/fifo"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/replica"
)

// opQueue holds the writes of one level in the order of their events. What counts for one counts
// for all before it, so that an ack ends a prefix of the queue, and nothing has to be counted per
// operation.
type opQueue struct {
	level quorum.Level
	ops   fifo.Queue[*op]
}

// writes is the updates that have happened here, and wait until enough replicas have them.
type writes struct {
	r      *replica.Replica
	ops    *inflight
	sets   *quorum.Joint[*replica.Peer] // whose quorums count
	queues []*opQueue                   // per level
	goals  []*op                        // those that changed nothing: they wait for a whole clock
}

func newWrites(r *replica.Replica, ops *inflight, sets *quorum.Joint[*replica.Peer]) writes {
	return writes{r: r, ops: ops, sets: sets}
}

// enqueue lets a write wait for the acks of its level.
func (w *writes) enqueue(o *op) {
	w.r.NoteAcks()
	for _, q := range w.queues {
		if q.level == o.level {
			q.ops.Push(o)
			return
		}
	}
	q := &opQueue{level: o.level}
	q.ops.Push(o)
	w.queues = append(w.queues, q)
}

// complete answers the writes that have reached their level.
func (w *writes) complete() {
	keep := w.queues[:0]
	for _, q := range w.queues {
		if q.ops.Len() == 0 {
			continue // no write has used this level since the last time
		}
		keep = append(keep, q)
		ops, reach, n := q.ops.Items(), w.reachOf(q.level), 0
		for n < len(ops) && (ops[n].Done() || ops[n].seq <= reach) {
			w.ops.end(ops[n], nil)
			w.ops.recycle(ops[n])
			n++
		}
		q.ops.Pop(n)
		if q.ops.Len() > 2*w.ops.pending()+64 {
			q.ops.Drop((*op).Done) // they have timed out behind one that still waits
		}
	}
	clear(w.queues[len(keep):])
	w.queues = keep
	w.completeGoals()
}

// reachOf is reach, for all levels: Local asks the own replica only.
func (w *writes) reachOf(l quorum.Level) uint64 {
	if l == quorum.Local {
		return w.r.Committed().Base(w.r.Cfg.Self)
	}
	return w.sets.Reach(l, w.ackedBase)
}

// ackedBase returns the last own event that a replica, the own one as nil, has acknowledged, and
// whether its acks count.
func (w *writes) ackedBase(p *replica.Peer) (uint64, bool) {
	if p == nil {
		return w.r.Acked().Base(w.r.Cfg.Self), true
	}
	return p.Link(w.r.Id).Window.Counted(), w.r.Counts(p)
}

// hasWrite reports whether a replica, the own one as nil, has acknowledged what a write did or
// found.
func (w *writes) hasWrite(p *replica.Peer, o *op) bool {
	switch {
	case p == nil && o.goal != nil:
		return w.r.Acked().Includes(o.goal)
	case p == nil:
		return w.r.Acked().Base(w.r.Cfg.Self) >= o.seq
	case !w.r.Counts(p):
		return false
	case o.goal != nil:
		return p.Link(w.r.Id).Acked.Includes(o.goal)
	}
	return p.Link(w.r.Id).Window.Counted() >= o.seq
}

// awaitGoal begins a write that changed nothing: what it found must be as safe as a change would
// be. It reports whether peers have to be asked for that.
func (w *writes) awaitGoal(o *op, timeout time.Duration) (ask bool) {
	w.ops.begin(o, timeout)
	if w.goalReached(o) {
		w.ops.end(o, nil)
		return false
	}
	w.goals = append(w.goals, o)
	return o.level != quorum.Local
}

// idle reports whether no write that changed nothing waits.
func (w *writes) idle() bool { return len(w.goals) == 0 }

// len returns how many writes wait: those that have ended, and stand behind one that waits, do not
// count.
func (w *writes) len() int {
	n := 0
	count := func(ops []*op) {
		for _, o := range ops {
			if !o.Done() {
				n++
			}
		}
	}
	count(w.goals)
	for _, q := range w.queues {
		count(q.ops.Items())
	}
	return n
}

// drop forgets the writes; they have been answered.
func (w *writes) drop() { w.queues, w.goals = nil, nil }

// dropGoals forgets those that have ended.
func (w *writes) dropGoals() { w.goals = slices.DeleteFunc(w.goals, (*op).Done) }

func (w *writes) goalReached(o *op) bool {
	if o.level == quorum.Local {
		return w.r.Id == keyspace.Volatile || w.r.Committed().Includes(o.goal)
	}
	return w.sets.Agreed(o.level, func(p *replica.Peer) bool { return w.hasWrite(p, o) })
}

func (w *writes) completeGoals() {
	if len(w.goals) == 0 {
		return
	}
	keep := w.goals[:0]
	for _, o := range w.goals {
		if !o.Done() && w.goalReached(o) {
			w.ops.end(o, nil)
		}
		if !o.Done() {
			keep = append(keep, o)
		}
	}
	clear(w.goals[len(keep):])
	w.goals = keep
}

// failLocal counts the own replica as failed for the writes up to an event, and for those that only
// waited for the disk. Those that cannot do without it have failed; the others may still find
// enough disks elsewhere.
func (w *writes) failLocal(upTo uint64, cause error) {
	for _, q := range w.queues {
		for _, o := range q.ops.Items() {
			if o.seq > upTo {
				break
			}
			w.fail(o, cause)
		}
	}
	for _, o := range w.goals {
		w.fail(o, cause)
	}
}

func (w *writes) fail(o *op, cause error) {
	if o.Done() {
		return
	}
	o.failed = cause
	w.endHopeless(o)
}

// timedOut tells which members satisfy has: in the installed view, or, if that has enough, in the
// first older one that has not.
func (w *writes) timedOut(o *op, has func(p *replica.Peer) bool) error {
	e := &TimeoutError{Key: o.key, Level: o.level, Read: o.read, Cause: o.failed}
	if o.level == quorum.Local { // it waited for the own disk
		e.Epoch, e.Need, e.Missing = w.r.View.Epoch, 1, []crdt.Origin{w.r.Cfg.Self}
		return e
	}
	if !w.sets.Complete() {
		return e
	}
	v := w.sets.Lacking(o.level, has)
	if v == nil {
		v = w.sets.Newest()
	}
	e.Epoch, e.Need, e.Have = v.Epoch, v.Need(o.level), v.Tally(has)
	e.Missing, e.Refused = w.idsOf(v.Without(has)), w.refusals(v, o)
	return e
}

// idsOf lists replicas, the own one as nil, by id.
func (w *writes) idsOf(ps []*replica.Peer) (ids []crdt.Origin) {
	for _, p := range ps {
		if p == nil {
			ids = append(ids, w.r.Cfg.Self)
		} else {
			ids = append(ids, p.Id)
		}
	}
	slices.Sort(ids)
	return ids
}
