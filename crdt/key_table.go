package crdt

// keyTable is the keys of a store that hold something. What it hands out for changing belongs to the
// writer; what a snapshot or a view has is never changed again.
type keyTable struct {
	gen    uint64 // of what the writer owns; a snapshot raises it
	stamps uint64 // the last generation given to a tree
	tree   tree[*keyState]
	recent *keyState     // the one sought or changed last, nil after it emptied
	cursor cursor[*Item] // where the transaction looked last: what it writes there needs no second search
}

// get returns the state of a key, nil when it holds nothing. Read only.
func (t *keyTable) get(key string) *keyState {
	if t.recent != nil && t.recent.key == key {
		return t.recent
	}
	ks := t.tree.get(key)
	if ks != nil {
		t.recent = ks
	}
	return ks
}

// writable returns the state of a key for changing; create says to make one when the key holds
// nothing.
func (t *keyTable) writable(key string, create bool) *keyState {
	ks := t.get(key)
	switch {
	case ks == nil && !create:
		return nil
	case ks == nil:
		ks = newKeyState(t.gen, key)
		t.tree.set(ks, nil)
	case ks.gen != t.gen:
		ks = ks.clone(t.gen, &t.stamps)
		t.tree.set(ks, nil)
	}
	t.recent = ks
	return ks
}

// put enters an item, and takes away those siblings at its path that removes names. It returns the
// state of the key.
func (t *keyTable) put(it *Item, removes []Dot) *keyState {
	ks := t.writable(it.Key, true)
	it.Key = ks.key
	ks.put(it, removes, &t.cursor)
	t.cursor.root = nil
	return ks
}

// drop takes an item from its key, which stays even if it holds nothing now.
func (t *keyTable) drop(it *Item) {
	t.writable(it.Key, false).drop(it, &t.cursor)
	t.cursor.root = nil
}

// remove forgets a key that holds nothing.
func (t *keyTable) remove(ks *keyState) {
	t.tree.remove(ks.key, nil)
	t.recent = nil
}

// handOut returns the state of a key, which is never changed again. It costs the next write to that
// key a copy of its top.
func (t *keyTable) handOut(key string) *keyState {
	ks := t.get(key)
	if ks != nil && ks.gen == t.gen {
		ks.gen = 0
	}
	return ks
}

// fork returns all keys, which are never changed again.
func (t *keyTable) fork() tree[*keyState] {
	t.gen++
	return t.tree.fork(&t.stamps)
}
