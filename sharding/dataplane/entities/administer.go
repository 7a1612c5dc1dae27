package entities

import (
	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Administer takes an administrative message; false: it is none. place is that of another node's,
// and is given back unless it is refused.
func (s *Shard) Administer(id string, env mailbox.Envelope, place runloop.Permit) (mailbox.Verdict, bool) {
	switch env.Msg.(type) {
	case codec.Passivate:
		if s.Find(id) == nil {
			place.Release()
			break
		}
		s.runtime.control.Passivate(s, id, protocol.CauseRequest, place)
	case codec.Start:
		s.Mu.RLock()
		no := s.sealed || s.dead
		s.Mu.RUnlock()
		if no {
			return mailbox.Refused, true
		}
		s.runtime.control.StartEntity(s, id, env, place)
	default:
		return mailbox.Accepted, false
	}
	return mailbox.Accepted, true
}
