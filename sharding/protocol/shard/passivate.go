package shard

import (
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// onPassivate stops an active entity for good. Whatever else asks is too late or has asked before.
func (p *population) onPassivate(in protocol.Passivate) {
	if p.phase != shardOpen || p.entities.byID.of(in.ID).state != entityActive {
		return
	}
	p.entities.become(in.ID, entityPassivating)
	p.entities.arm(&p.entities.passivating, in.ID, p.cfg.Passivation.StopTimeout)
	p.do(protocol.StopEntity(in))
}

// onPassivated forgets an entity that has stopped because it was told to. One that a message waits
// for starts again.
func (p *population) onPassivated(id protocol.EntityID, wanted bool) {
	switch {
	case p.cfg.Remember.Entities && !p.cfg.Planted(defect.KeepsPassivated):
		p.entities.become(id, rememberingStop)
		if wanted {
			p.entities.want(id)
		}
		if p.store.fenced {
			p.release(id)
			return
		}
		p.store.removes = append(p.store.removes, id)
	case wanted:
		p.entities.start(id)
	default:
		p.entities.become(id, entityAbsent)
	}
}
