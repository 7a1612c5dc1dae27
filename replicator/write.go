package replicator

import (
	"fmt"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/fifo"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// opQueue holds the writes of one level in the order of their events. What counts for one counts
// for all before it, so that an ack ends a prefix of the queue, and nothing has to be counted per
// operation.
type opQueue struct {
	level quorum.Level
	ops   fifo.Queue[*op]
}

func (m *Machine) onUpdate(in Update) {
	o := m.newOp(in.ID, in.Key, in.Write)
	o.mutate = in.Mutate
	m.write(o, in.Timeout)
}

func (m *Machine) onDelete(in Delete) {
	o := m.newOp(in.ID, in.Key, in.Write)
	o.mutate = removeAll
	m.write(o, in.Timeout)
}

func (m *Machine) onDeleteForever(in DeleteForever) {
	o := m.newOp(in.ID, in.Key, in.Write)
	o.mutate, o.forever = removeAll, true
	m.write(o, in.Timeout)
}

func removeAll(t *crdt.Tx) error {
	_, err := t.RemoveAll("")
	return err
}

// write begins an update, or holds it back.
func (m *Machine) write(o *op, timeout time.Duration) {
	if err := m.mayWrite(o.level); err != nil {
		m.reply(o.id, err)
		return
	}
	if o.s = m.spaces[m.SpaceOf(o.key)]; !m.holdForMove(o, timeout) && !o.s.hold(o, timeout) {
		o.s.update(o, timeout)
	}
}

// mayWrite says why an update cannot even begin. Nothing has happened then.
func (m *Machine) mayWrite(l quorum.Level) error {
	if l == quorum.Linearizable {
		return fmt.Errorf("%w: %v is for reads; write at Majority", ErrLevel, l)
	}
	if err := m.mayAsk(l); err != nil {
		return err
	}
	if !m.serves {
		return ErrLearner // R11: what it removes it must have observed
	}
	return nil
}

// mayAsk says why an operation of this level cannot begin.
func (m *Machine) mayAsk(l quorum.Level) error {
	if !l.Valid() {
		return fmt.Errorf("%w: %v", ErrLevel, l)
	}
	if !m.member {
		return ErrNoView
	}
	if n := len(m.view.Voters); l != quorum.Local && l.Need(n) > n {
		return fmt.Errorf("%w: %v, the view has %d voters", ErrNotEnoughReplicas, l, n)
	}
	if m.pending >= m.cfg.PendingMax {
		return fmt.Errorf("%w: %d operations wait (Config.PendingMax)", ErrOverloaded, m.pending)
	}
	return nil
}

func (s *space) enqueue(o *op) {
	s.acksMoved = true
	for _, q := range s.writes {
		if q.level == o.level {
			q.ops.Push(o)
			return
		}
	}
	q := &opQueue{level: o.level}
	q.ops.Push(o)
	s.writes = append(s.writes, q)
}

// completeWrites answers the writes that have reached their level.
func (s *space) completeWrites() {
	keep := s.writes[:0]
	for _, q := range s.writes {
		if q.ops.Len() == 0 {
			continue // no write has used this level since the last time
		}
		keep = append(keep, q)
		ops, reach, n := q.ops.Items(), s.reachOf(q.level), 0
		for n < len(ops) && (ops[n].done() || ops[n].seq <= reach) {
			s.m.end(ops[n], nil)
			s.m.recycle(ops[n])
			n++
		}
		q.ops.Pop(n)
		if q.ops.Len() > 2*s.m.pending+64 {
			q.ops.Drop((*op).done) // they have timed out behind one that still waits
		}
	}
	clear(s.writes[len(keep):])
	s.writes = keep
	s.completeGoals()
}

// reachOf is reach, for all levels: Local asks the own replica only.
func (s *space) reachOf(l quorum.Level) uint64 {
	if l == quorum.Local {
		return s.committed().Base(s.m.cfg.Self)
	}
	return s.sets.Reach(l, s.ackedBase)
}

// ackedBase returns the last own event that a replica, the own one as nil, has acknowledged, and
// whether its acks count.
func (s *space) ackedBase(p *peer) (uint64, bool) {
	if p == nil {
		return s.acked().Base(s.m.cfg.Self), true
	}
	return p.link(s).window.Counted(), s.m.counts(p)
}

// hasWrite reports whether a replica, the own one as nil, has acknowledged what a write did or
// found.
func (s *space) hasWrite(p *peer, o *op) bool {
	switch {
	case p == nil && o.goal != nil:
		return s.acked().Includes(o.goal)
	case p == nil:
		return s.acked().Base(s.m.cfg.Self) >= o.seq
	case !s.m.counts(p):
		return false
	case o.goal != nil:
		return p.link(s).acked.Includes(o.goal)
	}
	return p.link(s).window.Counted() >= o.seq
}

// awaitGoal begins a write that changed nothing: what it found must be as safe as a change would
// be.
func (s *space) awaitGoal(o *op, timeout time.Duration) {
	m := s.m
	m.begin(o, timeout)
	if s.goalReached(o) {
		m.end(o, nil)
		return
	}
	s.goals = append(s.goals, o)
	if o.level != quorum.Local {
		m.askAll()
		s.roundAt = earlier(s.roundAt, m.now.Add(m.cfg.RetryInterval))
	}
}

func (s *space) goalReached(o *op) bool {
	if o.level == quorum.Local {
		return s.id == Volatile || s.committed().Includes(o.goal)
	}
	return s.sets.Agreed(o.level, func(p *peer) bool { return s.hasWrite(p, o) })
}

func (s *space) completeGoals() {
	if len(s.goals) == 0 {
		return
	}
	keep := s.goals[:0]
	for _, o := range s.goals {
		if !o.done() && s.goalReached(o) {
			s.m.end(o, nil)
		}
		if !o.done() {
			keep = append(keep, o)
		}
	}
	clear(s.goals[len(keep):])
	s.goals = keep
}

// failLocal counts the own replica as failed for the writes up to an event, and for those that only
// waited for the disk. Those that cannot do without it have failed; the others may still find
// enough disks elsewhere.
func (s *space) failLocal(upTo uint64, cause error) {
	for _, q := range s.writes {
		for _, o := range q.ops.Items() {
			if o.seq > upTo {
				break
			}
			s.fail(o, cause)
		}
	}
	for _, o := range s.goals {
		s.fail(o, cause)
	}
}

func (s *space) fail(o *op, cause error) {
	if o.done() {
		return
	}
	o.failed = cause
	s.endHopeless(o)
}
