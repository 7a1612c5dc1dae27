package proptest

import (
	"fmt"
	"slices"

	"github.com/coterie-go/coterie/crdt"
)

// deliver takes one group from the network, out of order, and loses it, keeps a duplicate, or
// applies it.
func (w *world) deliver() error {
	if len(w.flying) == 0 {
		return nil
	}
	k := w.pick("flight", len(w.flying))
	f := w.flying[k]
	fate := w.pick("fate", 8)
	if fate != 1 {
		w.flying = slices.Delete(w.flying, k, k+1)
	}
	if fate == 2 {
		w.tell("%s of %s gets lost", w.dots(f.group), w.nameOf(f.to))
		return nil
	}
	_, err := w.apply(f.to, f.group)
	if err != nil {
		return err
	}
	return w.check(f.to)
}

// apply gives a replica a group that has crossed the wire, and tells the model which operations it
// was.
func (w *world) apply(n *node, g crdt.Group) (crdt.Outcome, error) {
	g, err := w.plant.group(g)
	if err != nil {
		return 0, w.broken(encodingsComeBack, "%v: %v", g, err)
	}
	known, needs := true, true
	for i := range g {
		known = known && n.rep.Store().Clock().Has(g[i].Dot)
	}
	var ch crdt.Changes
	var out crdt.Outcome
	if n.one != nil {
		out, err = n.one.apply(g)
		needs = out == crdt.Waiting
	} else {
		out, err = n.rep.Apply(g, &ch)
		needs = len(ch.Missing) > 0
	}
	w.tell("%s gets %s: %v", w.nameOf(n), w.dots(g), out)
	if err != nil || (out == crdt.Duplicate) != known || (out == crdt.Waiting) != needs {
		return out, w.broken(groupsAreDeltas, "apply answered %v, %v; it was known: %v; missing: %v",
			out, err, known, ch.Missing)
	}
	if out == crdt.Applied {
		for _, id := range w.ids[g.First()] {
			n.seen = n.seen.with(id)
		}
		n.commit(&ch)
	}
	return out, nil
}

// fill sends what to lacks from the log of from, in small frames of which the later ones can get
// lost; a log that does not reach back means a merge.
func (w *world) fill(to, from *node) error {
	for {
		gs, more, covered := w.plant.missing(from.rep.Store(), to.rep.Store().Clock(), 1+w.pick("frame", 200))
		if !covered {
			return w.merge(to, from)
		}
		w.tell("%s fills its gaps from the log of %s", w.nameOf(to), w.nameOf(from))
		for _, g := range gs {
			out, err := w.apply(to, g)
			if err != nil {
				return err
			}
			if out != crdt.Applied {
				return w.broken(logsShipDifferences, "%s, which %s lacks, was %v there", w.dots(g), w.nameOf(to), out)
			}
		}
		if err := w.check(to); err != nil {
			return err
		}
		if !more || w.pick("the rest gets lost", 4) == 3 {
			return nil
		}
	}
}

// merge joins the state of from: by the whole, or by the difference that a reconciliation would
// find.
func (w *world) merge(to, from *node) error {
	w.tell("%s merges %s", w.nameOf(to), w.nameOf(from))
	seen := to.seen.or(from.seen)
	var ch crdt.Changes
	var err error
	if to.one != nil {
		err = to.one.merge(from.one)
	} else {
		err = w.repair(to, from, &ch)
	}
	if err != nil {
		return w.broken(mergesAgree, "%s merges %s: %v", w.nameOf(to), w.nameOf(from), err)
	}
	to.seen = seen
	to.commit(&ch)
	return w.check(to)
}

func (w *world) repair(to, from *node, ch *crdt.Changes) error {
	snap := from.rep.Store().Snapshot()
	var items []crdt.Item
	for it := range snap.Items() {
		if w.pick("ship what is known", 2) == 1 || !to.rep.Store().Clock().Has(it.Dot) {
			items = append(items, *it)
		}
	}
	items, err := w.plant.items(items)
	if err != nil {
		return fmt.Errorf("items do not cross the wire: %w", err)
	}
	if w.pick("as a difference", 2) == 0 {
		return w.plant.merge(to.rep, snap.Clock(), snap.Live, items, ch)
	}
	var absent []crdt.Dot
	for it := range to.rep.Store().Snapshot().Items() {
		if !snap.Live(it.Dot) {
			absent = append(absent, it.Dot)
		}
	}
	return to.rep.MergeDiff(snap.Clock(), absent, items, ch)
}
