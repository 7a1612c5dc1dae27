package dataplane

import (
	"context"

	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/dataplane/routes"
	"github.com/coterie-go/coterie/sharding/failure"
)

// administerInbound is administer for what has just come from another node, of which so many may
// wait for the machines and no more. false: the shard takes nothing any more.
func (r *Plane) administerInbound(s *entities.Shard, from uint64, m *codec.Message, env mailbox.Envelope) bool {
	place, ok := r.Ctl.Admit(from, len(m.ID)+routes.BufferedOverhead)
	if !ok {
		r.Out.ReplyError(env, failure.StatusOf(failure.DropInbox), failure.DropInbox.String())
		return true
	}
	if v, _ := s.Administer(string(m.ID), env, place); v == mailbox.Refused {
		place.Release()
		return false
	}
	return true
}

// StartEntity has an entity started, wherever its shard lives, and says on which node that is.
func (r *Plane) StartEntity(ctx context.Context, id string) (node uint64, err error) {
	q := &Question[uint64]{R: r, Plain: true}
	c, env, err := q.Open(ctx, codec.Start{})
	if err == nil {
		err = q.Wait(ctx, c, r.Send(ctx, id, env))
	}
	return q.Value, r.Explained(id, err)
}
