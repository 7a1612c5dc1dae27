package host

import (
	"maps"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Silences are the members that a node does not hear, and since when. The zero value has none. It
// may be used from any goroutine.
type Silences struct {
	mu    sync.Mutex
	since map[view.UID]time.Time
}

// Note notes that a member fell silent at now, or is heard again.
func (s *Silences) Note(uid view.UID, heard bool, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if heard {
		delete(s.since, uid)
		return
	}
	if s.since == nil {
		s.since = map[view.UID]time.Time{}
	}
	s.since[uid] = now
}

// Follow forgets those that a view does not list.
func (s *Silences) Follow(v *view.View) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.since, func(uid view.UID, _ time.Time) bool { return !v.Has(uid) })
}

// All is all of them. The map is the caller's.
func (s *Silences) All() map[view.UID]time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.since)
}
