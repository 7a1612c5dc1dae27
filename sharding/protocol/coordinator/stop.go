package coordinator

import (
	"slices"

	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// onStopShards stops shards for good: each is handed off, and no home comes after. It is given one
// again only when a message asks. A shard that is on its way somewhere is stopped once it is there.
// A type that remembers entities or has reminders is refused: its shards have to run although nothing
// asks, so each has a home.
func (h *homes) onStopShards(from protocol.UID, shards []protocol.ShardID) {
	if h.cfg.NeedsHomes() || h.view.Closing {
		h.counts[protocol.CountIgnored]++
		return
	}
	for _, s := range shards {
		st, ok := h.at(s)
		if !ok {
			continue
		}
		if st.state == stateUnallocated {
			h.out.rest(from, s)
			continue
		}
		if !slices.Contains(h.stops[s], from) {
			h.stops[s] = append(h.stops[s], from)
		}
		switch {
		case st.state == stateHosted:
			h.startMove(s)
		case st.state == stateWanted && len(h.waiters[s]) == 0:
			h.clear(s)
		}
	}
}

// vacate goes on with a shard that no region hosts any more. The shard stays so if a stop was asked
// for and no message waits. Otherwise it needs another home.
func (h *homes) vacate(s protocol.ShardID) {
	if len(h.stops[s]) > 0 && len(h.waiters[s]) == 0 && !h.cfg.Planted(defect.NeverRests) {
		h.clear(s)
		return
	}
	h.answerStop(s)
	h.want(s)
}

// clear writes that a shard has no home. The entry is above every hand-off, so it ends them: what
// waits for it from now on asks for a home.
func (h *homes) clear(s protocol.ShardID) {
	h.unassign(s)
	h.arrives(s)
	st := &h.shards[s]
	st.state, st.token = stateClearing, h.next()
	h.out.puts = append(h.out.puts, protocol.Entry{Shard: s, Token: st.token})
}

// cleared answers the regions that wanted the shard stopped, now that later coordinators know it.
// Proxies do not see the table, so they are told. If a message has asked meanwhile, or the type
// remembers entities or has reminders, the shard gets a home.
func (h *homes) cleared(e protocol.Entry) {
	h.shards[e.Shard].state = stateUnallocated
	h.notify(protocol.Event{Kind: protocol.ShardAtRest, Shard: e.Shard, Token: e.Token})
	h.answerStop(e.Shard)
	for _, p := range h.regions.peers { // order: the outbox sorts by receiver
		if p.proxy {
			h.out.home(p.uid, e)
		}
	}
	if len(h.waiters[e.Shard]) > 0 || h.cfg.NeedsHomes() {
		h.want(e.Shard)
	}
}

func (h *homes) answerStop(s protocol.ShardID) {
	for _, u := range h.stops[s] {
		h.out.rest(u, s)
	}
	delete(h.stops, s)
}
