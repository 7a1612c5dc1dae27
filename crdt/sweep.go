package crdt

// sweepScanMax is how many items one Sweep looks at.
const sweepScanMax = 1 << 14

// sweeping is where the next Sweep goes on.
type sweeping struct{ key, path string }

// Sweep removes what no reader is shown any more, in one group of at most most items: node-owned
// items of origins that are not living, what a DeleteForever had not observed, and folded counts
// without an anchor. Of markers put at the same time it makes one new marker, which removes them
// all: to keep one of them would take the other from a replica that has not heard of the kept one
// yet. Any replica may sweep at any time; one is enough. A nil group with more says that this much
// was looked at in vain. Only a caller that knows that the origins that are not living will not
// come back may call it.
func (r *Replica) Sweep(most int, ch *Changes) (g Group, more bool, err error) {
	s, at := r.st, &r.sweep
	key, ok := s.nextLitter(at.key)
	if !ok {
		*at = sweeping{}
		return nil, false, nil
	}
	if key != at.key {
		*at = sweeping{key: key}
	}
	ks := s.keyOf(key)
	if markers := ks.at(deletedPath); len(markers) > 1 {
		g, err = r.update(key, 0, func(tx *Tx) error { return tx.Put(deletedPath, "", dotsOf(markers[:min(len(markers), RemovesMax)])) }, ch)
		return g, s.litter.Len() > 0, err
	}
	dots, done := s.hiddenItems(ks, at, most)
	if len(dots) > 0 {
		g, err = r.update(key, 0, func(tx *Tx) error { return tx.Drop("", dots) }, ch)
	}
	if done { // what came to the key behind this pass is found by the next one
		*at = sweeping{key: key + "\x00"}
	}
	return g, s.litter.Len() > 0, err
}

// Littered reports whether Sweep may find something.
func (s *Store) Littered() bool { return s.litter.Len() > 0 }

// nextLitter returns the first littered key from one on, around the end.
func (s *Store) nextLitter(from string) (key string, ok bool) {
	take := func(k string) bool {
		key, ok = k, true
		return false
	}
	if s.litter.Ascend(from, take); !ok {
		s.litter.Ascend("", take)
	}
	return key, ok
}

// hiddenItems looks for what can go from where at stands on, and reports whether it came to the end
// of the key.
func (s *Store) hiddenItems(ks *keyState, at *sweeping, most int) (dots []Dot, done bool) {
	deleted := ks.isDeleted()
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
		case deleted, kindOf(it.Path).owned() && !s.living.Has(it.Dot.Origin), isFold(it) && !ks.anchored(it.Path):
			dots = append(dots, it.Dot)
		}
		return true
	})
	return dots, done
}

// hiddenKeys counts the keys that read as if they held nothing.
func (s *Store) hiddenKeys() int {
	n := s.deleted
	s.litter.Scan(func(key string) bool {
		if ks := s.keyOf(key); ks != nil && !ks.isDeleted() && readerOf(ks, s.shown()).Len() == 0 {
			n++
		}
		return true
	})
	return n
}
