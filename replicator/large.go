package replicator

import "fmt"

// LargeKey says that a key has grown beyond Config.LargeKey, or by a tenth since that was last said
// of it.
type LargeKey struct {
	Space Space
	Key   string
	Bytes int // estimated encoded size of what it holds
}

// String prints it on one line.
func (l LargeKey) String() string {
	return fmt.Sprintf("large %v %q %d bytes", l.Space, l.Key, l.Bytes)
}

// weighKeys looks at the sizes of the keys that a call of the store has changed. What was said of a
// key is forgotten when it holds nothing.
func (s *space) weighKeys() {
	most := s.m.cfg.LargeKey
	if most < 0 {
		return
	}
	for _, key := range s.ch.Keys {
		if s.m.SpaceOf(key) != s.id {
			continue // it moves, or has moved
		}
		n := s.store.Bytes(key)
		was, said := s.m.large[key]
		switch {
		case n == 0 && said:
			delete(s.m.large, key)
		case n >= most && (!said || n >= was+was/10):
			if s.m.large == nil {
				s.m.large = map[string]int{}
			}
			s.m.large[key] = n
			s.m.eff.Large = append(s.m.eff.Large, LargeKey{s.id, key, n})
		}
	}
}
