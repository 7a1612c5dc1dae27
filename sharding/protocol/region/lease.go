package region

import (
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// onShardWaits: the shard waits for its lease. A hand-off that has all its fences does not wait for
// that.
func (ps *places) onShardWaits(s protocol.ShardID) {
	p, ok := ps.at(s)
	if !ok || p.phase != protocol.PhaseStarting {
		ps.countIgnored()
		return
	}
	p.waits = true
	ps.maybeDrain(s, p)
}

// onShardLeased: the shard starts as soon as it has loaded, so a hand-off waits for that while
// messages wait.
func (ps *places) onShardLeased(s protocol.ShardID) {
	p, ok := ps.at(s)
	if !ok || p.phase != protocol.PhaseStarting {
		ps.countIgnored()
		return
	}
	p.waits = false
}

// onShardUnable tells the coordinator that another may be a better home. What waits goes there by a
// hand-off.
func (ps *places) onShardUnable(s protocol.ShardID) {
	p, ok := ps.at(s)
	if !ok || p.phase != protocol.PhaseStarting || !ps.registration.known {
		ps.countIgnored()
		return
	}
	ps.send(ps.registration.coordinator, protocol.Unable{Shards: []protocol.ShardID{s}})
}

// onShardLost ends a shard whose lease was lost. What its mailboxes held is gone; what comes from
// now on is buffered. In a hand-off that is the end of it, without fences: nothing is left that
// could be delivered. Otherwise the region gives the shard up, under the token by which it hosted
// it, and the coordinator chooses a home, here or elsewhere. Here it would not try before a pause.
func (ps *places) onShardLost(s protocol.ShardID) {
	p, ok := ps.at(s)
	if !ok || !p.hosts() {
		ps.countIgnored()
		return
	}
	id := p.host
	if g := ps.moves[s]; g != nil {
		id = g.id
	}
	ps.kill(s, p, protocol.DropLeaseLost)
	ps.lost[s] = ps.now
	ps.moves[s] = &giveUp{id: id}
	ps.becomeStopped(s, p, id)
}

// givenUp reports whether a command to host is one that this region has obeyed and then given up.
// To obey it again would be to host what the coordinator may be giving to another.
func (ps *places) givenUp(p *place, st protocol.ShardToken) bool {
	return p.phase == protocol.PhaseStopped && ps.moves[st.Shard].id == st.Token
}

// backoffOf is how long a shard that is to start here waits before it asks for its lease.
func (ps *places) backoffOf(s protocol.ShardID) time.Duration {
	at, ok := ps.lost[s]
	if !ok {
		return 0
	}
	delete(ps.lost, s)
	return max(0, ps.cfg.Leases.RetryInterval-ps.now.Sub(at))
}
