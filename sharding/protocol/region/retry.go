package region

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/runloop/timer"
	"github.com/coterie-go/coterie/sharding/protocol"
)

func (r *Region) onTick() {
	if !r.asker.askAt.IsZero() && !r.now.Before(r.asker.askAt) {
		r.asker.sendAsks(&r.places)
	}
	if !r.retryAt.IsZero() && !r.now.Before(r.retryAt) {
		r.counts[protocol.CountRetries]++
		r.retry()
	}
}

// retry repeats everything that has not been answered.
func (r *Region) retry() {
	r.retryAt = time.Time{}
	r.asker.asking = false
	r.registration.failing.repeated()
	if r.registration.mayRegister(r.departure.left) {
		r.send(r.registration.coordinator, protocol.Register{
			Proxy: r.cfg.Proxy, Leaving: r.departure.leaving, Joined: r.registration.joined, Life: r.registration.life,
			Compatibility: r.cfg.Compatibility().ReadBy(r.view),
		})
	}
	if r.places.wanted > 0 {
		r.asker.askAll(&r.places, true)
	}
	if r.registration.coordinator == 0 {
		return
	}
	if r.places.stopped > 0 {
		r.places.sendStopped()
	}
	r.stopper.askStops()
	if r.departure.leaving && !r.departure.left || r.departure.owesLeft() {
		r.send(r.registration.coordinator, r.departure.leaveRequest())
	}
}

func (ps *places) sendStopped() {
	var sts []protocol.ShardToken
	ps.visitActive(func(s protocol.ShardID, p *place) {
		if p.phase == protocol.PhaseStopped {
			sts = append(sts, protocol.ShardToken{Shard: s, Token: ps.moves[s].id})
		}
	})
	for chunk := range slices.Chunk(sts, protocol.BatchMax) {
		ps.send(ps.registration.coordinator, protocol.ShardsStopped{Shards: chunk})
	}
}

// arm sets the time of the next repetition while something is unanswered. The pauses double up to
// RetryInterval, with a little jitter so that a thousand regions do not speak at once.
func (r *Region) arm() {
	waits := r.registration.mayRegister(r.departure.left) || r.places.wanted > 0 || r.places.stopped > 0 ||
		len(r.stopper.stops) > 0 || r.departure.leaving && !r.departure.left || r.departure.owesLeft()
	switch {
	case !waits || r.dropped:
		r.retryAt, r.tries, r.registration.failing = time.Time{}, 0, failing{}
	case r.retryAt.IsZero():
		pause := timer.Backoff(r.cfg.Coordination.RetryInterval/8, r.cfg.Coordination.RetryInterval, r.tries)
		r.retryAt = r.now.Add(pause + time.Duration(r.rng.Int64N(int64(pause)/8+1)))
		r.tries++
	}
}
