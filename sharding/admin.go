package sharding

import (
	"context"

	"github.com/coterie-go/coterie/sharding/codec"

	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// administer takes an administrative message; false: it is none. place is that of another node's,
// and is given back unless it is refused.
func (s *shard) administer(id string, env envelope, place runloop.Permit) (verdict, bool) {
	switch env.msg.(type) {
	case codec.Passivate:
		if s.find(id) == nil {
			place.Release()
			break
		}
		s.region.ctl.passivate(s, id, protocol.CauseRequest, place)
	case codec.Start:
		s.mu.RLock()
		no := s.sealed || s.dead
		s.mu.RUnlock()
		if no {
			return refused, true
		}
		s.region.ctl.startEntity(s, id, env, place)
	default:
		return accepted, false
	}
	return accepted, true
}

// administerInbound is administer for what has just come from another node, of which so many may
// wait for the machines and no more. false: the shard takes nothing any more.
func (r *core) administerInbound(s *shard, from uint64, m *codec.Message, env envelope) bool {
	place, ok := r.ctl.admit(from, len(m.ID)+bufferedOverhead)
	if !ok {
		r.out.replyError(env, statusOf(DropInbox), DropInbox.String())
		return true
	}
	if v, _ := s.administer(string(m.ID), env, place); v == refused {
		place.Release()
		return false
	}
	return true
}

// startEntity has an entity started, wherever its shard lives, and says on which node that is.
func (r *core) startEntity(ctx context.Context, id string) (node uint64, err error) {
	q := &question[uint64]{r: r, plain: true}
	c, env, err := q.open(ctx, codec.Start{}, nil)
	if err == nil {
		err = q.wait(ctx, c, r.send(ctx, id, env))
	}
	return q.value, r.explained(id, err)
}
