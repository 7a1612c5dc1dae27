package region

import (
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// onShardWaits: the shard waits for its lease. A hand-off that has all its fences does not wait for
// that.
func (r *Region) onShardWaits(s protocol.ShardID) {
	p, ok := r.at(s)
	if !ok || p.phase != protocol.PhaseStarting {
		r.countIgnored()
		return
	}
	p.waits = true
	r.maybeDrain(s, p)
}

// onShardLeased: the shard starts as soon as it has loaded, so a hand-off waits for that while
// messages wait.
func (r *Region) onShardLeased(s protocol.ShardID) {
	p, ok := r.at(s)
	if !ok || p.phase != protocol.PhaseStarting {
		r.countIgnored()
		return
	}
	p.waits = false
}

// onShardUnable tells the coordinator that another may be a better home. What waits goes there by a
// hand-off.
func (r *Region) onShardUnable(s protocol.ShardID) {
	p, ok := r.at(s)
	if !ok || p.phase != protocol.PhaseStarting || !r.known {
		r.countIgnored()
		return
	}
	r.send(r.coordinator, protocol.Unable{Shards: []protocol.ShardID{s}})
}

// onShardLost ends a shard whose lease was lost. What its mailboxes held is gone; what comes from
// now on is buffered. In a hand-off that is the end of it, without fences: nothing is left that
// could be delivered. Otherwise the region gives the shard up, under the token by which it hosted
// it, and the coordinator chooses a home, here or elsewhere. Here it would not try before a pause.
func (r *Region) onShardLost(s protocol.ShardID) {
	p, ok := r.at(s)
	if !ok || !p.hosts() {
		r.countIgnored()
		return
	}
	id := p.host
	if g := r.moves[s]; g != nil {
		id = g.id
	}
	r.kill(s, p, protocol.DropLeaseLost)
	r.lost[s] = r.now
	r.moves[s] = &giveUp{id: id}
	r.becomeStopped(s, p, id)
}

// givenUp reports whether a command to host is one that this region has obeyed and then given up.
// To obey it again would be to host what the coordinator may be giving to another.
func (r *Region) givenUp(p *place, st protocol.ShardToken) bool {
	return p.phase == protocol.PhaseStopped && r.moves[st.Shard].id == st.Token
}

// backoffOf is how long a shard that is to start here waits before it asks for its lease.
func (r *Region) backoffOf(s protocol.ShardID) time.Duration {
	at, ok := r.lost[s]
	if !ok {
		return 0
	}
	delete(r.lost, s)
	return max(0, r.cfg.LeaseRetryInterval-r.now.Sub(at))
}
