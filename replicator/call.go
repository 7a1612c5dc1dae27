package replicator

import (
	"fmt"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/replica"
)

func (m *Machine) onUpdate(in Update) {
	o := m.ops.newOp(in.ID, in.Key, in.Write)
	o.mutate = in.Mutate
	m.write(o, in.Timeout)
}

func (m *Machine) onDelete(in Delete) {
	o := m.ops.newOp(in.ID, in.Key, in.Write)
	o.mutate = removeAll
	m.write(o, in.Timeout)
}

func (m *Machine) onDeleteForever(in DeleteForever) {
	o := m.ops.newOp(in.ID, in.Key, in.Write)
	o.mutate, o.forever = removeAll, true
	m.write(o, in.Timeout)
}

func removeAll(t *crdt.Tx) error {
	_, err := t.RemoveAll("")
	return err
}

// write begins an update, or holds it back.
func (m *Machine) write(o *op, timeout time.Duration) {
	if err := m.ops.mayWrite(o.level); err != nil {
		m.site.Reply(o.id, err)
		return
	}
	o.space = m.SpaceOf(o.key)
	if s := m.spaces[o.space]; !m.move.hold(o, timeout) && !s.holding.hold(o, timeout) {
		s.update(o, timeout)
	}
}

func (m *Machine) onGet(in Get) {
	s := m.spaces[m.SpaceOf(in.Key)]
	if err := crdt.CheckKey(in.Key); err != nil {
		m.site.Reply(in.ID, err)
		return
	}
	if in.Read == quorum.Local {
		m.site.ReplyReader(in.ID, s.Store.View(in.Key))
		return
	}
	if err := m.ops.mayAsk(in.Read); err != nil {
		m.site.Reply(in.ID, err)
		return
	}
	if !m.site.Serves {
		m.site.Reply(in.ID, ErrLearner)
		return
	}
	if in.Read == quorum.Linearizable && m.site.Cfg.Defects.ReadWithoutAgreement {
		in.Read = quorum.Majority
	}
	o := &op{id: in.ID, key: in.Key, level: in.Read, space: s.Id, read: true}
	if in.Read == quorum.Linearizable {
		m.ops.begin(o, in.Timeout)
		s.compares.add(o)
		return
	}
	s.reads.begin(o, in.Timeout)
}

// onCancel ends operations whose callers have gone. It walks once over what waits, however many
// they are.
func (m *Machine) onCancel(ids []uint64) {
	wanted := make(map[uint64]struct{}, len(ids))
	for _, id := range ids {
		wanted[id] = struct{}{}
	}
	var ops []*op
	for o := range m.ops.waiting() {
		if _, ok := wanted[o.id]; ok && o.then == nil {
			ops = append(ops, o)
		}
	}
	for _, o := range ops {
		o.mutate = nil
		m.spaces[o.space].NoteAcks() // what waited with it is looked at again
		m.ops.end(o, ErrCancelled)
	}
}

// timedOut tells how far an operation has come.
func (m *Machine) timedOut(o *op) error {
	s := m.spaces[o.space]
	switch {
	case o.heldBack():
		o.mutate = nil
		if m.move.movesKey(o.key) {
			return fmt.Errorf("%w: write of %q at %v was held back, nothing happened", ErrKeyMoving, o.key, o.level)
		}
		return s.holding.neverBegun(o)
	case o.level == quorum.Linearizable:
		return s.writes.timedOut(o, o.agreed)
	case o.read:
		r := s.reads.roundOf(o)
		return s.writes.timedOut(o, func(p *replica.Peer) bool { return s.reads.answered(r, p) })
	}
	return s.writes.timedOut(o, func(p *replica.Peer) bool { return s.writes.hasWrite(p, o) })
}
