package proptest

import (
	"bytes"

	"github.com/coterie-go/coterie/crdt"
)

// lattice joins states and compares them, through what of package crdt the laws go through.
type lattice struct {
	subject *subject
	story   *story
	keys    []string // that are read
}

// join merges two states.
func (l *lattice) join(a, b state) (state, error) {
	s := a.store()
	if err := l.subject.plant.merge(s, b.clock, b.live, b.items, nil); err != nil {
		return a, err
	}
	return snapState(s.Snapshot()), s.Check()
}

// valueAt reads one key, wherever it is.
func (l *lattice) valueAt(r crdt.Reader) (v any, err error) {
	err = guarded(func() error {
		got, err := l.subject.view(r)
		if err == nil {
			v = got.value
		}
		return err
	})
	return v, err
}

// same demands that two states are equal and read the same.
func (l *lattice) same(which law, what string, a, b state) error {
	if !a.equal(b) {
		return l.story.broken(which, "%s:\n%v\nand\n%v", what, a, b)
	}
	return l.sameValues(which, what, a, b)
}

// sameValues demands that two equal states read the same: that a view depends on the items alone.
func (l *lattice) sameValues(which law, what string, a, b state) error {
	sa, sb := a.store(), b.store()
	for _, key := range l.keys {
		va, erra := l.valueAt(sa.View(key))
		vb, errb := l.valueAt(sb.View(key))
		if erra != nil || errb != nil || !alike(va, vb) {
			return l.story.broken(which, "%s: equal items of %s read as\n  %+v (%v)\nand\n  %+v (%v)\n%v",
				what, key, va, erra, vb, errb, a)
		}
	}
	return nil
}

// delta checks an update that made a group: applied to the state before, it makes the state after,
// and so does the merge of both.
func (l *lattice) delta(key string, before state, g crdt.Group, after state) error {
	if after.clock.Equal(before.clock) || !after.clock.Includes(before.clock) {
		return l.story.broken(updatesInflate, "an update with events took the clock from %v to %v",
			before.clock, after.clock)
	}
	if sum, err := l.join(before, after); err != nil || !sum.equal(after) {
		return l.story.broken(updatesInflate, "before ⊔ after is not after: %v\nbefore %v\nafter  %v\nsum    %v",
			err, before, after, sum)
	}
	s := before.store()
	got, err := l.subject.plant.group(g)
	if err != nil {
		return l.story.broken(encodingsComeBack, "%v: %v", g, err)
	}
	if out, err := s.Apply(got, nil); out != crdt.Applied || err != nil || !snapState(s.Snapshot()).equal(after) {
		return l.story.broken(groupsAreDeltas, "before and the group do not make after: %v, %v\nbefore %v\ngroup  "+
			"%v\nafter  %v\ngot    %v", out, err, before, g,
			after, snapState(s.Snapshot()))
	}
	return l.sameValues(groupsAreDeltas, "after an update, and from its group", after, snapState(s.Snapshot()))
}

// twins makes the same update on two replicas of one state. Both must make the same bytes, or an
// iteration over a map has leaked into them.
func (l *lattice) twins(s state, key string, wall int64, ops []any) error {
	var raw [2][]byte
	for i := range raw {
		r := crdt.NewReplica(1, crdt.StoreOptions{DigestSeed: digestSeed})
		if err := s.load(r); err != nil {
			return err
		}
		g, err := r.Update(key, wall, l.subject.update(ops, nil), nil)
		if err != nil {
			return l.story.broken(updatesInflate, "an update of %s with %v: %v", key, list(ops), err)
		}
		if g != nil {
			raw[i] = crdt.AppendGroup(nil, g)
		}
	}
	if !bytes.Equal(raw[0], raw[1]) {
		return l.story.broken(updatesAreRepeatable, "%v on one state made %x and %x", list(ops), raw[0], raw[1])
	}
	return nil
}
