package memory

import (
	"fmt"
	"maps"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Damage spoils a stored event, as a broken disk does. Loading or reading it is
// persistence.ErrDamaged then. It fails if the event is not there.
func (s *Store) Damage(typ string, id protocol.EntityID, seq uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.historyOf(typ, id)
	if seq <= of.deleted || seq > of.end() {
		return fmt.Errorf("memory: entity %v of %q has no event %d", id, typ, seq)
	}
	damaged := map[uint64]bool{seq: true}
	maps.Copy(damaged, of.damaged)
	of.damaged = damaged
	return nil
}

func damage(typ string, id protocol.EntityID, seq uint64) error {
	return fmt.Errorf("%w: event %d of entity %v of %q", persistence.ErrDamaged, seq, id, typ)
}
