package crdt

import "fmt"

// deletedPath is where the marker of DeleteForever stands: one item without payload at the path
// that is its kind alone.
const deletedPath = string(rune(KindDeleted))

// DeleteForever puts a marker into a key and removes all that is observed there, in one event. From
// then on the key reads as deleted (Reader.Deleted), and Update refuses it with ErrDeleted. The
// marker hides what others wrote at the same time, wherever the two meet, until Sweep removes it. A
// key that is already permanently deleted stays as it is: the group is nil.
func (r *Replica) DeleteForever(key string, ch *Changes) (Group, error) {
	if r.st.live.keys.get(key).marks().isDeleted() {
		return nil, nil
	}
	return r.update(key, 0, func(tx *Tx) error {
		var removes []Dot
		for it := range tx.live().scan("") {
			removes = append(removes, it.Dot)
		}
		last := max(0, len(removes)-RemovesMax)
		if err := tx.Drop("", removes[:last:last]); err != nil {
			return err
		}
		return tx.Put(deletedPath, "", removes[last:])
	}, ch)
}

// deletedState is what readers of a key with a marker are given: nothing, and that it stays so.
func deletedState(key string) keyItems {
	return keyItems{more: &keyState{key: key, marks: &marks{deleted: 1}}}
}

func deletedError(key string) error { return fmt.Errorf("%w: %q", ErrDeleted, key) }
