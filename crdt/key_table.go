package crdt

// keyTable is the keys of a store that hold something. What it hands out for changing belongs to the
// writer; what a snapshot or a view has is never changed again.
type keyTable struct {
	gen    uint64 // of what the writer owns; a snapshot raises it
	stamps uint64 // the last generation given to a tree
	tree   tree[keyItems]
	recent keyItems      // the one sought or changed last, none after it emptied
	cursor cursor[*Item] // where the transaction looked last: what it writes there needs no second search
}

// get returns what a key holds. Read only.
func (t *keyTable) get(key string) keyItems {
	if t.recent.key() == key {
		return t.recent
	}
	ks := t.tree.get(key)
	if ks != (keyItems{}) {
		t.recent = ks
	}
	return ks
}

// set makes ks, which is something, what its key holds.
func (t *keyTable) set(ks keyItems) {
	if !t.tree.replace(ks) {
		t.tree.set(ks, nil)
	}
	t.recent = ks
}

// writable returns the state of a key for changing.
func (t *keyTable) writable(key string) *keyState {
	was := t.get(key)
	ks := was.state(key, t.gen, &t.stamps)
	if ks != was.more {
		t.set(keyItems{more: ks})
	}
	return ks
}

// put enters an item, and takes away those siblings at its path that removes names. It returns what
// the key holds then.
func (t *keyTable) put(it *Item, removes []Dot) keyItems {
	was := t.get(it.Key)
	if was != (keyItems{}) {
		it.Key = was.key()
	}
	if was.more == nil && isPlain(it) && was.goesWith(it.Path, removes) {
		t.set(keyItems{only: it})
		return t.recent
	}
	ks := t.writable(it.Key)
	ks.put(it, removes, &t.cursor)
	t.cursor.root = nil
	ks.enter(it)
	return keyItems{more: ks}
}

// drop takes an item from its key; leave counts it out then.
func (t *keyTable) drop(it *Item) {
	if t.get(it.Key).only == it {
		t.remove(it.Key)
		return
	}
	t.writable(it.Key).drop(it, &t.cursor)
	t.cursor.root = nil
}

// leave counts out an item that was taken from its key, and returns what the key holds then.
func (t *keyTable) leave(it *Item) keyItems {
	if t.get(it.Key).more != nil { // else it alone said all of its key
		ks := t.writable(it.Key)
		ks.leave(it)
		if ks.items == 0 {
			t.remove(it.Key)
		} else if ks.items == 1 && ks.marks == nil {
			only, _ := ks.edges()
			t.set(keyItems{only: only})
		}
	}
	return t.get(it.Key)
}

// remove forgets a key that holds nothing.
func (t *keyTable) remove(key string) {
	t.tree.remove(key, nil)
	t.recent = keyItems{}
}

// fork returns all keys, which are never changed again.
func (t *keyTable) fork() tree[keyItems] {
	t.gen++
	return t.tree.fork(&t.stamps)
}
