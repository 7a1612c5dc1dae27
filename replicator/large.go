package replicator

import "github.com/coterie-go/coterie/replicator/effect"

// largeKeys looks at the sizes of the keys that the calls of a store change.
type largeKeys struct {
	*site
	said map[string]int // by key, its size when that was last said to be large
}

// touch says which keys have grown large. What was said of a key is forgotten when it holds
// nothing.
func (k *largeKeys) touch(r *replica) {
	most := k.cfg.LargeKey
	if most < 0 {
		return
	}
	for _, key := range r.ch.Keys {
		if !r.owns(key) {
			continue // it moves, or has moved
		}
		n := r.store.Bytes(key)
		was, said := k.said[key]
		switch {
		case n == 0 && said:
			delete(k.said, key)
		case n >= most && (!said || n >= was+was/10):
			if k.said == nil {
				k.said = map[string]int{}
			}
			k.said[key] = n
			k.eff.Large = append(k.eff.Large, effect.LargeKey{Space: r.id, Key: key, Bytes: n})
		}
	}
}
