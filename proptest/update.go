package proptest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/coterie-go/coterie/crdt"
)

var errOnPurpose = errors.New("on purpose")

// update makes one Update of one to three operations and holds it to laws 2 and 3.
func (w *world) update() error {
	n := w.someone()
	key := w.keys[w.pick("key", len(w.keys))]
	w.wall += int64(w.pick("time passes", 3)) * 10
	wall := w.wall - int64(w.pick("a clock behind", 3))*15
	if w.pick("no clock", 8) == 7 {
		wall = 0
	}
	ops := make([]any, 1+w.pick("more operations", 3))
	for i := range ops {
		ops[i] = w.op(w.t) // drawn before: rapid ends a draw by a panic, which Update would catch
	}
	peek, twin := w.pick("peek", 2) == 1, w.pick("twin", 4) == 3
	if w.pick("fail", 10) == 9 {
		if err := w.failing(n, key, wall, ops); err != nil {
			return err
		}
	}
	before := n.state()
	if twin {
		if err := w.twins(before, key, wall, ops); err != nil {
			return err
		}
	}
	known, seen := w.past.len(), n.seen
	for _, op := range ops {
		seen = seen.with(w.past.add(op, key, n.rep.Origin(), wall, seen))
	}
	var ch crdt.Changes
	g, err := w.makeGroup(n, key, wall, ops, peek, known, &ch)
	w.tell("%s updates %s: %v at wall %d%s", w.nameOf(n), key, list(ops), wall, w.outcome(g))
	if err != nil {
		return w.broken(updatesInflate, "%s updates %s: %v", w.nameOf(n), key, err)
	}
	after := n.state()
	if g == nil {
		return w.silent(n, key, before, after, known, seen)
	}
	n.seen = seen
	w.remember(g, known)
	n.commit(&ch)
	if err := w.delta(key, before, g, after); err != nil {
		return err
	}
	for _, to := range w.nodes {
		if to != n {
			w.flying = append(w.flying, flight{to: to, group: g})
		}
	}
	return w.check(n)
}

func list(ops []any) string {
	words := make([]string, len(ops))
	for i, op := range ops {
		words[i] = fmt.Sprintf("%+v", op)
	}
	return strings.Join(words, ", ")
}

// makeGroup runs the update. With peek, the transaction must read after each operation what the
// model says of it.
func (w *world) makeGroup(n *node, key string, wall int64, ops []any, peek bool, known int,
	ch *crdt.Changes) (crdt.Group, error) {
	if n.one != nil {
		return n.one.update(wall, ops)
	}
	if !peek {
		return n.rep.Update(key, wall, w.subject.update(ops, nil), ch)
	}
	return n.rep.Update(key, wall, w.subject.update(ops, func(done int, value any) error {
		seen := n.seen
		for i := range done {
			seen = seen.with(known + i)
		}
		if want := w.past.reads(key, seen); !alike(value, want) {
			return fmt.Errorf("after %d operations the transaction reads\n  %+v\nand the model says\n  %+v", done,
				value, want)
		}
		return nil
	}), ch)
}

// failing makes an update whose function fails in the end. It must leave nothing behind.
func (w *world) failing(n *node, key string, wall int64, ops []any) error {
	if n.one != nil {
		return nil
	}
	before, seq := n.state(), n.rep.Seq()
	var ch crdt.Changes
	g, err := n.rep.Update(key, wall, func(tx *crdt.Tx) error {
		return errors.Join(w.subject.update(ops, nil)(tx), errOnPurpose)
	}, &ch)
	if !errors.Is(err, errOnPurpose) || errors.Is(err, crdt.ErrPanic) {
		return w.broken(updatesInflate, "%s updates %s with %v and fails in the end, but the update answers %v",
			w.nameOf(n), key, list(ops), err)
	}
	w.tell("%s updates %s: %v, which fails", w.nameOf(n), key, list(ops))
	if after := n.state(); g != nil || len(ch.Keys) > 0 || !after.equal(before) || n.rep.Seq() != seq {
		return w.broken(updatesInflate, "an update that failed left a trace: %v\nbefore %v\nafter  %v", g, before,
			after)
	}
	return w.check(n)
}

// silent checks an update that made no event: nothing may have changed, and the model must find the
// operations to be without effect, for no other replica will ever hear of them.
func (w *world) silent(n *node, key string, before, after state, known int, seen bits) error {
	if !after.equal(before) {
		return w.broken(updatesInflate, "an update without events changed the state from\n%v\nto\n%v", before, after)
	}
	r, err := w.read(n, key)
	if err != nil {
		return err
	}
	if want := w.past.reads(key, seen); !alike(r.value, want) {
		return w.broken(valuesAreTheModels, "%s made no event, reads %s as\n  %+v\nand the model says\n  %+v",
			w.nameOf(n), key, r.value, want)
	}
	w.past.cut(known)
	return w.check(n)
}

// remember notes which events a group stands for.
func (w *world) remember(g crdt.Group, known int) {
	w.made = append(w.made, g)
	for id := known; id < w.past.len(); id++ {
		w.ids[g.First()] = append(w.ids[g.First()], id)
	}
}
