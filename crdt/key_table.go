package crdt

import "github.com/coterie-go/coterie/crdt/tree"

// keyTable is the keys of a store that hold something. What it hands out for changing belongs to the
// writer; what a snapshot or a view has is never changed again.
type keyTable struct {
	gen    uint64 // of what the writer owns; a snapshot raises it
	stamps uint64 // the last generation given to a tree
	tree   keyTree
	recent keyItems                      // the one sought or changed last, none after it emptied
	spot   tree.Spot[keyItems, keyPlace] // where it stands, if that is known
	cursor tree.Cursor[*Item, itemPath]  // where the transaction looked last: a write there needs no search
}

// get returns what a key holds. Read only.
func (t *keyTable) get(key string) keyItems {
	if t.recent.key() == key {
		return t.recent
	}
	ks, spot := t.tree.Find(key)
	if ks != (keyItems{}) {
		t.recent, t.spot = ks, spot
	}
	return ks
}

// set makes ks, which is something, what its key holds.
func (t *keyTable) set(ks keyItems) {
	none := tree.Spot[keyItems, keyPlace]{}
	known := t.recent.key() == ks.key()
	if known && t.spot == none {
		_, t.spot = t.tree.Find(ks.key())
	}
	if !known || !t.tree.Replace(t.recent, ks, t.spot) {
		t.tree.Set(ks, nil)
		t.spot = none
	}
	t.recent = ks
}

// writable returns the state of a key, which get has returned, for changing.
func (t *keyTable) writable(key string, was keyItems) *keyState {
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
	ks := t.writable(it.Key, was)
	putItem(ks, it, removes, &t.cursor)
	t.cursor.Drop()
	ks.enter(it)
	return keyItems{more: ks}
}

// drop takes an item from its key; leave counts it out then.
func (t *keyTable) drop(it *Item) {
	was := t.get(it.Key)
	if was.only == it {
		t.remove(it.Key)
		return
	}
	dropItem(t.writable(it.Key, was), it, &t.cursor)
	t.cursor.Drop()
}

// leave counts out an item that was taken from its key, which holds is since. It returns what the key holds then.
func (t *keyTable) leave(it *Item, is keyItems) keyItems {
	if is.more == nil { // it alone said all of its key
		return is
	}
	ks := t.writable(it.Key, is)
	ks.leave(it)
	if ks.items == 0 {
		t.remove(it.Key)
		return keyItems{}
	} else if ks.items > 1 || ks.marks != nil {
		return keyItems{more: ks}
	}
	t.set(keyItems{only: ks.first()})
	return t.recent
}

// remove forgets a key that holds nothing.
func (t *keyTable) remove(key string) {
	t.tree.Remove(key, nil)
	t.recent = keyItems{}
}

// branch returns a copy for changing. Neither sees what is done to the other.
func (t *keyTable) branch() keyTable {
	b := *t
	b.tree = t.fork()
	b.gen, b.stamps, b.recent, b.cursor = t.gen, t.stamps, keyItems{}, tree.Cursor[*Item, itemPath]{}
	b.spot = tree.Spot[keyItems, keyPlace]{}
	return b
}

// fork returns all keys, which are never changed again.
func (t *keyTable) fork() keyTree {
	t.gen++
	return t.tree.Fork(&t.stamps)
}
