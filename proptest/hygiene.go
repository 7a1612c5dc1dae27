package proptest

import (
	"errors"

	"github.com/coterie-go/coterie/crdt"
)

// orderly is law 12 and the contract of a mutator: a dot is in one key and in the clock, every path
// begins with the kind, and a put removes what its own origin had put there. (Of another origin
// there can be two items at a path for a while: a put, and the one after its removal, which has not
// come.)
func (w *world) orderly(n *node) error {
	type seat struct {
		key, path string
	}
	keys, seats := map[crdt.Dot]string{}, map[seat]crdt.Dot{}
	for it := range n.rep.Store().Snapshot().Items() {
		if key, ok := keys[it.Dot]; ok || !n.rep.Store().Clock().Has(it.Dot) {
			return w.broken(itemsAreInPlace, "%s holds %v; its dot is also in %q; in the clock: %v",
				w.nameOf(n), it, key, n.rep.Store().Clock().Has(it.Dot))
		}
		keys[it.Dot] = it.Key
		if it.Path == "" || crdt.Kind(it.Path[0]) != w.kind {
			return w.broken(itemsAreInPlace, "%s holds %v, whose path does not begin with %v", w.nameOf(n), it, w.kind)
		}
		if it.Dot.Origin != n.rep.Origin() {
			continue
		}
		s := seat{it.Key, it.Path}
		if d, ok := seats[s]; ok {
			return w.broken(itemsAreInPlace,
				"%s has put %v and %v at one path: a put must remove what it observed there", w.nameOf(n), it, d)
		}
		seats[s] = it.Dot
	}
	return nil
}

// strangers is the type's side of law 6: items of another kind are a type clash, before anything
// happens; broken ones are an error, or read as something, but never a panic.
func strangers(w *world) error {
	s := w.nodes[1].state()
	var clock crdt.Clock
	clock.AddRange(1, 1, 2)
	own := crdt.Item{Path: string([]byte{byte(w.kind)}) + "path", Payload: "payload"}
	if len(s.items) > 0 {
		own = s.items[w.pick("item", len(s.items))]
	}
	foreign := crdt.Item{
		Dot: crdt.Dot{Origin: 1, Seq: 1}, Key: "k",
		Path: string([]byte{byte(w.kind) ^ 0x40}) + own.Path[1:], Payload: own.Payload,
	}
	err := meet(w, state{&clock, []crdt.Item{foreign}})
	if !errors.Is(err, crdt.ErrTypeClash) {
		return w.broken(strangersAreRefused, "an item of another kind, %v, answers %v, not ErrTypeClash", &foreign, err)
	}
	for _, it := range append(spoilt(w, own), crdt.Item{Path: own.Path[:1]},
		crdt.Item{Path: own.Path[:1] + "\xff\x00\xff", Payload: "\xff\xff\xff\xff"}) {
		it.Dot, it.Key = crdt.Dot{Origin: 1, Seq: 2}, "k"
		err := meet(w, state{&clock, []crdt.Item{it}})
		if errors.Is(err, errPanicked) || errors.Is(err, crdt.ErrPanic) {
			return w.broken(strangersAreRefused, "the item %v: %v", &it, err)
		}
	}
	return nil
}

// spoilt are broken copies of an item.
func spoilt(w *world, it crdt.Item) []crdt.Item {
	cut := func(s string) string { return s[:w.pick("cut", len(s)+1)] }
	flip := func(s string) string {
		b := []byte(s)
		if len(b) > 0 {
			b[w.pick("byte", len(b))] ^= byte(1 + w.pick("flip", 255))
		}
		return string(b)
	}
	return []crdt.Item{
		{Path: it.Path, Payload: cut(it.Payload)},
		{Path: it.Path, Payload: flip(it.Payload)},
		{Path: it.Path, Payload: it.Payload + "\x00"},
		{Path: it.Path[:1] + cut(it.Path[1:]), Payload: it.Payload},
		{Path: it.Path[:1] + flip(it.Path[1:]), Payload: flip(it.Payload)},
		{Path: it.Path + "\x00", Payload: it.Payload},
	}
}

// meet lets the type read and update a key that holds such a state. It returns what the view, else
// the update, answered.
func meet(w *world, s state) error {
	r := crdt.NewReplica(9, crdt.StoreOptions{DigestSeed: digestSeed})
	if err := s.load(r); err != nil {
		return err
	}
	_, viewed := w.valueAt(r.Store().View("k"))
	ops := []any{w.op(w.t)}
	g, updated := r.Update("k", 0, w.subject.update(ops, nil), nil)
	if errors.Is(viewed, crdt.ErrTypeClash) && (!errors.Is(updated, crdt.ErrTypeClash) || g != nil) &&
		!errors.Is(updated, crdt.ErrPanic) {
		return errors.New("the view says ErrTypeClash, but an update does not")
	}
	return errors.Join(viewed, updated)
}

// bounded is law 11: operations that are done again and again leave no more behind than when they
// are done a few times, except wider numbers.
func bounded(w *world) error {
	if w.grows {
		return nil
	}
	ops := make([]any, 1+w.pick("operations", 4))
	for i := range ops {
		ops[i] = w.op(w.t)
	}
	reps := [2]*crdt.Replica{}
	for i := range reps {
		reps[i] = crdt.NewReplica(crdt.Origin(i+1), crdt.StoreOptions{DigestSeed: digestSeed})
	}
	var after [2]int
	var items [2]int
	for phase, rounds := range [2]int{6, 40} {
		for range rounds {
			for i, op := range ops {
				from, to := reps[i%2], reps[1-i%2]
				g, err := from.Update("k", 0, w.subject.update([]any{op}, nil), nil)
				if err != nil {
					return w.broken(metadataIsBounded, "again and again %v: %v", list(ops), err)
				}
				if g == nil {
					continue
				}
				if out, err := to.Apply(g, nil); err != nil || out != crdt.Applied {
					return w.broken(metadataIsBounded, "again and again %v: %v is %v (%v)", list(ops), g, out, err)
				}
			}
		}
		s := snapState(reps[0].Store().Snapshot())
		items[phase] = len(s.items)
		after[phase] = len(crdt.AppendItems(s.clock.Append(nil), pointers(s.items)))
	}
	const width = 24 // what the numbers of an item may grow by
	if items[1] > items[0] || after[1] > after[0]+width*(items[0]+2) {
		return w.broken(metadataIsBounded, "%v, each time again: %d items of %d bytes after 6 rounds, %d of %d "+
			"after 46", list(ops), items[0], after[0],
			items[1], after[1])
	}
	return nil
}
