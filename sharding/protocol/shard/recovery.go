package shard

import (
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// recovery starts the entities that are remembered, as fast as Recovery allows.
type recovery struct {
	*env
	entities *entities
	queue    []protocol.EntityID // remembered, not started yet
	at       time.Time           // when the next are started
	turns    int                 // reserved for at
}

// begin starts so many entities, as far as they are still remembered when it is their turn.
func (rc *recovery) begin(ids []protocol.EntityID) {
	rc.queue, rc.at, rc.turns = ids, time.Time{}, 0
	rc.recover()
}

// end starts no more.
func (rc *recovery) end() { rc.queue, rc.at, rc.turns = nil, time.Time{}, 0 }

// startsMax bounds the remembered entities started in one Step.
const startsMax = 4096

// mayRecover returns how many remembered entities may be started now. If it is none, at
// is their time.
func (rc *recovery) mayRecover() int {
	r := rc.cfg.Remember.Recovery
	switch {
	case !rc.at.IsZero() && rc.now.Before(rc.at), len(rc.queue) == 0:
		return 0
	case r.Number == 0:
		return startsMax
	case rc.turns == 0:
		if rc.turns, rc.at = rc.cfg.Turns.Reserve(rc.now, len(rc.queue), r); rc.now.Before(rc.at) {
			return 0
		}
	}
	n := rc.turns
	rc.turns = 0
	return n
}

// recover starts remembered entities whose turn it is. All of them are many Steps, so that other
// inputs of the shard come between.
func (rc *recovery) recover() {
	left := rc.mayRecover()
	if left == 0 {
		return
	}
	for left > 0 && len(rc.queue) > 0 {
		id := rc.queue[0]
		rc.queue = rc.queue[1:]
		if rc.entities.byID.of(id).state == entityRemembered {
			rc.entities.restore(id)
			left--
		}
	}
	switch {
	case len(rc.queue) == 0:
		rc.queue, rc.at = nil, time.Time{}
	case rc.cfg.Remember.Recovery.Number == 0:
		rc.at = rc.now
	default:
		rc.turns, rc.at = rc.cfg.Turns.Reserve(rc.now, len(rc.queue), rc.cfg.Remember.Recovery)
	}
}
