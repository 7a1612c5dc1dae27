package replicator

import (
	"fmt"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/replicator/operation"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/replica"
)

func (i Update) op(f *operation.Inflight) *operation.Op {
	o := f.NewOp(i.ID, i.Key, i.Write)
	o.Mutate, o.ThenGet = i.Mutate, i.ThenGet
	return o
}

func (i Delete) op(f *operation.Inflight) *operation.Op {
	o := f.NewOp(i.ID, i.Key, i.Write)
	o.Mutate = removeAll
	return o
}

func (i DeleteForever) op(f *operation.Inflight) *operation.Op {
	o := f.NewOp(i.ID, i.Key, i.Write)
	o.Mutate, o.Forever = removeAll, true
	return o
}

func removeAll(t *crdt.Tx) error {
	_, err := t.RemoveAll("")
	return err
}

// write begins an update, or holds it back.
func (m *Machine) write(o *operation.Op, timeout time.Duration) {
	err := m.site.CheckKey(o.Key)
	if err == nil {
		err = m.ops.MayWrite(o.Level)
	}
	if err != nil {
		m.site.Reply(o.ID, err)
		return
	}
	o.Space = m.SpaceOf(o.Key)
	if s := m.spaces[o.Space]; !m.move.hold(o, timeout) && !s.holding.Hold(o, timeout) {
		s.update(o, timeout)
	}
}

func (m *Machine) onGet(in Get) {
	s := m.spaces[m.SpaceOf(in.Key)]
	err := crdt.CheckKey(in.Key)
	if err == nil {
		err = m.site.CheckKey(in.Key)
	}
	if err != nil {
		m.site.Reply(in.ID, err)
		return
	}
	if in.Read == quorum.Local {
		m.site.ReplyReader(in.ID, s.Store.View(in.Key))
		return
	}
	if err := m.ops.MayAsk(in.Read); err != nil {
		m.site.Reply(in.ID, err)
		return
	}
	if !m.site.Serves {
		m.site.Reply(in.ID, operation.ErrLearner)
		return
	}
	if in.Read == quorum.Linearizable && m.site.Cfg.Planted(defect.ReadWithoutAgreement) {
		in.Read = quorum.Majority
	}
	o := &operation.Op{ID: in.ID, Key: in.Key, Level: in.Read, Space: s.ID, Read: true}
	if in.Read == quorum.Linearizable {
		m.ops.Begin(o, in.Timeout)
		s.compares.Add(o)
		return
	}
	s.reads.Begin(o, in.Timeout)
}

// onCancel ends operations whose callers have gone. It walks once over what waits, however many
// they are.
func (m *Machine) onCancel(ids []uint64) {
	wanted := make(map[uint64]struct{}, len(ids))
	for _, id := range ids {
		wanted[id] = struct{}{}
	}
	var ops []*operation.Op
	for o := range m.ops.Waiting() {
		if _, ok := wanted[o.ID]; ok && o.Then == nil {
			ops = append(ops, o)
		}
	}
	for _, o := range ops {
		o.Mutate = nil
		m.spaces[o.Space].NoteAcks() // what waited with it is looked at again
		m.ops.End(o, operation.ErrCancelled)
	}
}

// timedOut tells how far an operation has come.
func (m *Machine) timedOut(o *operation.Op) error {
	s := m.spaces[o.Space]
	switch {
	case o.Looks:
		return nil // it has reached its level
	case o.HeldBack():
		o.Mutate = nil
		if m.move.movesKey(o.Key) {
			return fmt.Errorf("%w: write of %q at %v was held back, nothing happened",
				operation.ErrKeyMoving, o.Key, o.Level)
		}
		return s.holding.NeverBegun(o)
	case o.Level == quorum.Linearizable:
		return s.writes.TimedOut(o, o.Agreed)
	case o.Read:
		r := s.reads.RoundOf(o)
		return s.writes.TimedOut(o, func(p *replica.Peer) bool { return s.reads.Answered(r, p) })
	}
	return s.writes.TimedOut(o, func(p *replica.Peer) bool { return s.writes.HasWrite(p, o) })
}
