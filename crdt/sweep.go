package crdt

// sweepScanMax is how many items one Sweep looks at.
const sweepScanMax = 1 << 14

// sweeping is where the next Sweep goes on.
type sweeping struct{ key, path string }

// Sweep removes what no reader is shown any more, in one group of at most most items: node-owned items of origins
// that are not living, what a DeleteForever had not observed, and folded counts without an anchor. Of markers put at
// the same time it makes one new marker, which removes them all: to keep one of them would take the other from a
// replica that has not heard of the kept one yet. Any replica may sweep at any time; one is enough. A nil group with
// more says that this much was looked at in vain. Only a caller that knows that the origins that are not living will
// not come back may call it.
func (r *Replica) Sweep(most int, ch *Changes) (g Group, more bool, err error) {
	s, at := r.st, &r.sweep
	key, ok := s.live.marks.next(at.key)
	if !ok {
		*at = sweeping{}
		return nil, false, nil
	}
	if key != at.key {
		*at = sweeping{key: key}
	}
	ks := s.live.keys.get(key)
	if markers := ks.at(deletedPath); len(markers) > 1 {
		old := dotsOf(markers[:min(len(markers), RemovesMax)])
		g, err = r.update(key, 0, func(tx *Tx) error { return tx.Put(deletedPath, "", old) }, ch)
		return g, s.Littered(), err
	}
	dots, done := at.hidden(ks, s.live.living, most)
	if len(dots) > 0 {
		g, err = r.update(key, 0, func(tx *Tx) error { return tx.Drop("", dots) }, ch)
	}
	if done { // what came to the key behind this pass is found by the next one
		*at = sweeping{key: key + "\x00"}
	}
	return g, s.Littered(), err
}

// Littered reports whether Sweep may find something.
func (s *Store) Littered() bool { return s.live.marks.littered() }

// hidden looks for what can go from where at stands on, and reports whether it came to the end of the key.
func (at *sweeping) hidden(ks keyItems, l *Living, most int) (dots []Dot, done bool) {
	deleted := ks.marks().isDeleted()
	looked := 0
	done = true
	ks.ascend(at.path, func(it *Item) bool {
		if looked++; (looked > sweepScanMax || len(dots) >= most) && it.Path != at.path {
			at.path, done = it.Path, false
			return false
		}
		at.path = it.Path
		switch {
		case it.Path == deletedPath:
		case deleted,
			kindOf(it.Path).owned() && !l.Has(it.Dot.Origin),
			isFold(it) && !ks.more.anchored(it.Path):
			dots = append(dots, it.Dot)
		}
		return true
	})
	return dots, done
}
