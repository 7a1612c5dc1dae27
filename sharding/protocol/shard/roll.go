package shard

import "github.com/coterie-go/coterie/sharding/protocol"

// roll is the ids of the set that were read and are not all entered yet.
type roll struct {
	ids   []protocol.EntityID
	at    int                   // of these, how many are entered
	known bool                  // they are read
	own   []protocol.EntityID   // those entered that are of this shard; nil: all are
	later []protocol.IDsChanged // what has changed in the set since it was read
}

// rollMax bounds the ids entered in one Step: there may be a million, which take a tenth of a second.
const rollMax = 8192

// enter enters a part of the ids. It is done when all are entered, and the ones of this shard are about to be started.
// Those that belong to another shard, because the number of shards or the hash has changed, are started there and then
// forgotten here.
func (l *roll) enter(p *population) (done bool) {
	if !l.known {
		return false
	}
	end := min(l.at+rollMax, len(l.ids))
	for ; l.at < end; l.at++ {
		id := l.ids[l.at]
		p.entities.become(id, entityRemembered)
		switch strange := p.cfg.Shard(id) != p.id; {
		case strange:
			if l.own == nil {
				l.own = append(make([]protocol.EntityID, 0, len(l.ids)), l.ids[:l.at]...)
			}
			p.strangers.ids = append(p.strangers.ids, id)
		case l.own != nil:
			l.own = append(l.own, id)
		}
	}
	if end < len(l.ids) {
		return false
	}
	if p.recovery.queue = l.ids; l.own != nil {
		p.recovery.queue = l.own
	}
	*l = roll{later: l.later}
	return true
}
