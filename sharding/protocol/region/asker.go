package region

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// asker asks the coordinator where shards live. One question is under way at a time; what is wanted
// meanwhile travels together in the next one.
type asker struct {
	*env
	registration *registration

	asks   []protocol.ShardID // to be asked for with the next GetHomes
	askAt  time.Time          // at the latest
	asking bool               // a GetHomes is under way
	turn   int                // which region a proxy asks next
}

// answered notes that the question under way has its answer, and asks the next one.
func (a *asker) answered(ps *places) {
	if a.asking {
		a.asking = false
		a.sendAsks(ps)
	}
}

// askDelay gathers questions for homes while one is under way.
const askDelay = 10 * time.Millisecond

// ask asks for the home of a shard, with the next question.
func (a *asker) ask(ps *places, s protocol.ShardID) {
	if !a.registration.known {
		return // all that is wanted is asked for on registration
	}
	a.asks = append(a.asks, s)
	if !a.asking {
		a.sendAsks(ps)
		return
	}
	if a.askAt.IsZero() {
		a.askAt = a.now.Add(askDelay)
	}
}

// sendAsks asks for what still waits: a question for a shard that is here by now, or has a home,
// would keep it from coming to rest.
func (a *asker) sendAsks(ps *places) {
	a.askAt = time.Time{}
	a.asks = slices.DeleteFunc(a.asks, func(s protocol.ShardID) bool { return !ps.asks(s) })
	for len(a.asks) > 0 {
		n := min(len(a.asks), protocol.BatchMax)
		a.counts[protocol.CountLookups] += uint64(n)
		a.send(a.registration.coordinator, protocol.GetHomes{Shards: append([]protocol.ShardID(nil), a.asks[:n]...)})
		a.asks = a.asks[n:]
		a.asking = true
	}
	a.asks = nil
}

// askAll asks for every shard that waits for a home; regionToo asks another region as well.
func (a *asker) askAll(ps *places, regionToo bool) {
	a.asks = a.asks[:0]
	ps.visitActive(func(s protocol.ShardID, p *place) {
		if p.asks() {
			a.asks = append(a.asks, s)
		}
	})
	if len(a.asks) == 0 {
		return
	}
	if peer, ok := a.nextRegion(); ok && regionToo {
		a.send(peer, protocol.GetHomes{
			Region: true, Shards: append([]protocol.ShardID(nil), a.asks[:min(len(a.asks), protocol.BatchMax)]...),
		})
	}
	if a.registration.known {
		a.sendAsks(ps)
	}
}

// nextRegion picks the region that a proxy asks next; it has no table of its own.
func (a *asker) nextRegion() (protocol.UID, bool) {
	if a.view == nil || !a.cfg.Proxy || !a.registration.joined {
		return 0, false
	}
	ms := a.view.ByRole(a.cfg.Role)
	for range ms {
		a.turn++
		if m := ms[a.turn%len(ms)]; m.UID != a.registration.coordinator && m.UID != a.self() {
			return m.UID, true
		}
	}
	return 0, false
}
