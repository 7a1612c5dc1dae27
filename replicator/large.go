package replicator

import (
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/replica"
)

// largeKeys looks at the sizes of the keys that the calls of a store change.
type largeKeys struct {
	*replica.Site
	said map[string]int // by key, its size when that was last said to be large
}

// Touch says which keys have grown large. What was said of a key is forgotten when it holds
// nothing.
func (k *largeKeys) Touch(r *replica.Replica) {
	most := k.Cfg.LargeKey
	if most < 0 {
		return
	}
	for _, key := range r.Changes.Keys {
		if !r.Owns(key) {
			continue // it moves, or has moved
		}
		n := r.Store.Bytes(key)
		was, said := k.said[key]
		switch {
		case n == 0 && said:
			delete(k.said, key)
		case n >= most && (!said || n >= was+was/10):
			if k.said == nil {
				k.said = map[string]int{}
			}
			k.said[key] = n
			k.Eff.Large = append(k.Eff.Large, effect.LargeKey{Space: r.ID, Key: key, Bytes: n})
		}
	}
}
