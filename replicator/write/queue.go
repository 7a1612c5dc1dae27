package write

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/fifo"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/operation"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/replica"
)

// opQueue holds the writes of one level in the order of their events. What counts for one counts
// for all before it, so that an ack ends a prefix of the queue, and nothing has to be counted per
// operation.
type opQueue struct {
	level quorum.Level
	ops   fifo.Queue[*operation.Op]
}

// Queue is the updates that have happened here, and wait until enough replicas have them.
type Queue struct {
	r      *replica.Replica
	ops    *operation.Inflight
	sets   *quorum.Joint[*replica.Peer] // whose quorums count
	looks  func(*operation.Op)          // takes an update with ThenGet that has reached its level
	queues []*opQueue                   // per level
	goals  []*operation.Op              // those that changed nothing: they wait for a whole clock
}

// NewQueue makes an empty queue. sets says whose quorums count; looks takes an update with ThenGet
// that has reached its level.
func NewQueue(
	r *replica.Replica, ops *operation.Inflight, sets *quorum.Joint[*replica.Peer], looks func(*operation.Op),
) Queue {
	return Queue{r: r, ops: ops, sets: sets, looks: looks}
}

// Enqueue lets a write wait for the acks of its level.
func (w *Queue) Enqueue(o *operation.Op) {
	w.r.NoteAcks()
	for _, q := range w.queues {
		if q.level == o.Level {
			q.ops.Push(o)
			return
		}
	}
	q := &opQueue{level: o.Level}
	q.ops.Push(o)
	w.queues = append(w.queues, q)
}

// Complete answers the writes that have reached their level.
func (w *Queue) Complete() {
	keep := w.queues[:0]
	for _, q := range w.queues {
		if q.ops.Len() == 0 {
			continue // no write has used this level since the last time
		}
		keep = append(keep, q)
		ops, n := q.ops.Items(), 0
		reach := w.reachOf(q.level, ops[0].Seq)
		for n < len(ops) && (ops[n].Done() || ops[n].Seq <= reach) {
			w.complete(ops[n])
			n++
		}
		q.ops.Pop(n)
		if q.ops.Len() > 2*w.ops.Pending()+64 {
			q.ops.Drop((*operation.Op).Done) // they have timed out behind one that still waits
		}
	}
	clear(w.queues[len(keep):])
	w.queues = keep
	w.completeGoals()
}

// complete ends the wait of a write that has reached its level, or has timed out.
func (w *Queue) complete(o *operation.Op) {
	if o.ThenGet && !o.Done() {
		w.looks(o)
		return
	}
	w.ops.End(o, nil)
	w.ops.Recycle(o)
}

// reachOf is the last own event that has reached a level, 0 if that is one before from. Local asks the own replica
// only.
func (w *Queue) reachOf(l quorum.Level, from uint64) uint64 {
	if l == quorum.Local {
		return w.r.Committed().Base(w.r.Cfg.Self)
	}
	return w.sets.Reach(l, from, w.ackedBase)
}

// ackedBase returns the last own event that a replica, the own one as nil, has acknowledged, and
// whether its acks count.
func (w *Queue) ackedBase(p *replica.Peer) (uint64, bool) {
	if p == nil {
		return w.r.Acked().Base(w.r.Cfg.Self), true
	}
	return p.Link(w.r.ID).Window.Counted(), w.r.Counts(p)
}

// HasWrite reports whether a replica, the own one as nil, has acknowledged what a write did or
// found.
func (w *Queue) HasWrite(p *replica.Peer, o *operation.Op) bool {
	switch {
	case p == nil && o.Goal != nil:
		return w.r.Acked().Includes(o.Goal)
	case p == nil:
		return w.r.Acked().Base(w.r.Cfg.Self) >= o.Seq
	case !w.r.Counts(p):
		return false
	case o.Goal != nil:
		return p.Link(w.r.ID).Acked.Includes(o.Goal)
	}
	return p.Link(w.r.ID).Window.Counted() >= o.Seq
}

// AwaitGoal begins a write that changed nothing: what it found must be as safe as a change would
// be. It reports whether peers have to be asked for that.
func (w *Queue) AwaitGoal(o *operation.Op, timeout time.Duration) (ask bool) {
	w.ops.Begin(o, timeout)
	if w.goalReached(o) {
		w.ops.End(o, nil)
		return false
	}
	w.goals = append(w.goals, o)
	return o.Level != quorum.Local
}

// Idle reports whether no write that changed nothing waits.
func (w *Queue) Idle() bool { return len(w.goals) == 0 }

// Len returns how many writes wait: those that have ended, and stand behind one that waits, do not
// count.
func (w *Queue) Len() int {
	n := 0
	count := func(ops []*operation.Op) {
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

// Drop forgets the writes; they have been answered.
func (w *Queue) Drop() { w.queues, w.goals = nil, nil }

// DropGoals forgets those that have ended.
func (w *Queue) DropGoals() { w.goals = slices.DeleteFunc(w.goals, (*operation.Op).Done) }

func (w *Queue) goalReached(o *operation.Op) bool {
	if o.Level == quorum.Local {
		return w.r.ID == keyspace.Volatile || w.r.Committed().Includes(o.Goal)
	}
	return w.sets.Agreed(o.Level, func(p *replica.Peer) bool { return w.HasWrite(p, o) })
}

func (w *Queue) completeGoals() {
	if len(w.goals) == 0 {
		return
	}
	keep := w.goals[:0]
	for _, o := range w.goals {
		if !o.Done() && w.goalReached(o) {
			w.ops.End(o, nil)
		}
		if !o.Done() {
			keep = append(keep, o)
		}
	}
	clear(w.goals[len(keep):])
	w.goals = keep
}

// FailLocal counts the own replica as failed for the writes up to an event, and for those that only
// waited for the disk. Those that cannot do without it have failed; the others may still find
// enough disks elsewhere.
func (w *Queue) FailLocal(upTo uint64, cause error) {
	for _, q := range w.queues {
		for _, o := range q.ops.Items() {
			if o.Seq > upTo {
				break
			}
			w.fail(o, cause)
		}
	}
	for _, o := range w.goals {
		w.fail(o, cause)
	}
}

func (w *Queue) fail(o *operation.Op, cause error) {
	if o.Done() {
		return
	}
	o.Failed = cause
	w.endHopeless(o)
}

// TimedOut tells which members satisfy has: in the installed view, or, if that has enough, in the
// first older one that has not.
func (w *Queue) TimedOut(o *operation.Op, has func(p *replica.Peer) bool) error {
	e := &operation.TimeoutError{Key: o.Key, Level: o.Level, Read: o.Read, Cause: o.Failed}
	if o.Level == quorum.Local { // it waited for the own disk
		e.Epoch, e.Need, e.Missing = w.r.View.Epoch, 1, []crdt.Origin{w.r.Cfg.Self}
		return e
	}
	if !w.sets.Complete() {
		return e
	}
	v := w.sets.Lacking(o.Level, has)
	if v == nil {
		v = w.sets.Newest()
	}
	e.Epoch, e.Need, e.Have = v.Epoch, v.Need(o.Level), v.Tally(has)
	e.Missing, e.Refused = w.idsOf(v.Without(has)), w.refusals(v, o)
	return e
}

// idsOf lists replicas, the own one as nil, by id.
func (w *Queue) idsOf(ps []*replica.Peer) (ids []crdt.Origin) {
	for _, p := range ps {
		if p == nil {
			ids = append(ids, w.r.Cfg.Self)
		} else {
			ids = append(ids, p.ID)
		}
	}
	slices.Sort(ids)
	return ids
}
