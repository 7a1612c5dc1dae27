package coordinator

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// homes is the table of shards: how far the coordinator has come with each, which hand-offs are in
// progress, and which regions wait for what. Its transitions move a shard from one state to the
// next, and put what follows for regions and for the replicated table into the outbox.
//
//	empty ──asked──► wanted ──Allocate──► writing ──majority──► hosting ──Started──► hosted ──move──► fencing ──all Begins answered──► stopping
//	                   ▲                     ▲                                          │                │                              │
//	                   │                     └────────────── abort: the same home ◄─────┼────────────────┴──────────────────────────────┤
//	                   └──────────────────── the home left the view ◄───────────────────┴───────────────────────── the owner has stopped
//
// In a view that is Closing no hand-off begins, and a shard that has lost its home is ended instead
// of wanted. One that is stopped for good goes from stopping to clearing, and is empty when a
// majority knows that it has no home. Nothing waits for anything else: thousands of shards may be
// in each state. What is told to one node in one Step travels in one message.
type homes struct {
	*env
	shards      []shardState // by ShardID
	moves       map[protocol.ShardID]*move
	waiters     map[protocol.ShardID][]protocol.UID
	departed    map[protocol.ShardID]leave          // of the shards that are on their way
	stops       map[protocol.ShardID][]protocol.UID // that stop for good, and the nodes that ask for it
	unallocated []protocol.ShardID                  // wanted; no region could take them yet
	commanded   []protocol.ShardID                  // whose homes may not have answered yet, each once or more
	byHome      byHome

	regions regions
	picture picture
	out     outbox
}

func newHomes(e *env) homes {
	return homes{
		env: e, moves: map[protocol.ShardID]*move{}, waiters: map[protocol.ShardID][]protocol.UID{},
		departed: map[protocol.ShardID]leave{}, stops: map[protocol.ShardID][]protocol.UID{},
		regions: regions{env: e, peers: map[protocol.UID]*peer{}, passed: map[protocol.UID]time.Time{}},
		picture: picture{needs: allocation.NeedsOf(e.cfg.Allocation.Strategy)},
	}
}

// begin makes the table of all shards, of which nothing is known.
func (h *homes) begin() {
	h.shards, h.byHome = make([]shardState, h.cfg.Shards), byHome{first: map[protocol.UID]uint32{}}
	h.picture.begin(h.cfg.Shards)
}

// at finds the state of a shard; a shard beyond the number of shards is counted.
func (h *homes) at(s protocol.ShardID) (*shardState, bool) {
	if int64(s) >= int64(len(h.shards)) {
		h.counts[protocol.CountOutOfRange]++
		return nil, false
	}
	return &h.shards[s], true
}

// ask answers a region that asks for a home, at once or when the shard has one.
func (h *homes) ask(from protocol.UID, s protocol.ShardID) {
	st, ok := h.at(s)
	if !ok {
		return
	}
	switch st.state {
	case stateHosting, stateHosted:
		h.out.home(from, protocol.Entry{Shard: s, Home: st.home, Token: st.token})
		return
	case stateUnallocated:
		h.want(s)
	case stateEnded:
		h.out.end(from, s)
		return
	}
	if !slices.Contains(h.waiters[s], from) {
		h.waiters[s] = append(h.waiters[s], from)
	}
}

// remember has a shard with remembered ids get a home if it lives nowhere.
func (h *homes) remember(s protocol.ShardID) {
	if h.shards[s].state == stateUnallocated && !h.view.Closing {
		h.want(s)
	}
}

// want takes a shard from its home, if it has one, and puts it among those that need one.
func (h *homes) want(s protocol.ShardID) {
	h.unassign(s)
	h.shards[s].state = stateWanted
	h.unallocated = append(h.unallocated, s)
}

// lose takes a shard from a home that does not host it any more. The shard gets another home,
// unless the whole cluster shuts down. Then it is stopped where it was, and every region that waits
// for it is told.
func (h *homes) lose(s protocol.ShardID, closing bool) {
	if !closing {
		h.departs(s)
		h.vacate(s)
		return
	}
	h.unassign(s)
	h.arrives(s)
	h.shards[s] = shardState{state: stateEnded, token: h.shards[s].token}
	for _, u := range h.waiters[s] {
		h.out.end(u, s)
	}
	delete(h.waiters, s)
	delete(h.stops, s)
}

// unassign takes a shard out of its home's load and out of a hand-off.
func (h *homes) unassign(s protocol.ShardID) {
	st := &h.shards[s]
	if st.counts() {
		h.load(st.home, s, false)
	}
	delete(h.moves, s)
	h.byHome.set(h.shards, s, 0)
}

// place decides the home of a shard. The decision is written before any region acts on it.
func (h *homes) place(s protocol.ShardID, home protocol.UID) {
	st := &h.shards[s]
	h.unassign(s)
	st.state, st.token = stateWriting, h.next()
	h.byHome.set(h.shards, s, home)
	h.load(home, s, true)
	e := protocol.Entry{Shard: s, Home: home, Token: st.token}
	h.out.puts = append(h.out.puts, e)
	if h.cfg.Planted(defect.TellsUnwritten) {
		h.written(e)
	}
}

// command tells the home of a shard to host it.
func (h *homes) command(s protocol.ShardID) {
	st := &h.shards[s]
	st.sent = h.ticks
	h.commanded = append(h.commanded, s)
	h.out.host(st.home, protocol.ShardToken{Shard: s, Token: st.token})
}

// tell answers the regions that wait for the home of a shard. Proxies do not see the table, so they
// are told of every move.
func (h *homes) tell(e protocol.Entry) {
	for _, u := range h.waiters[e.Shard] {
		h.out.home(u, e)
	}
	delete(h.waiters, e.Shard)
	if !h.shards[e.Shard].moved {
		return
	}
	for _, p := range h.regions.peers { // order: the outbox sorts by receiver
		if p.proxy {
			h.out.home(p.uid, e)
		}
	}
}

// onStarted notes that the home has taken the shard. If the home is leaving, or the shard must be
// stopped, the next hand-off begins at once.
func (h *homes) onStarted(from protocol.UID, sts []protocol.ShardToken) {
	for _, t := range sts {
		st, ok := h.at(t.Shard)
		if !ok {
			continue
		}
		if st.home != from {
			h.counts[protocol.CountOtherRole]++
			continue
		}
		if st.state != stateHosting || st.token != t.Token {
			h.counts[protocol.CountLate]++
			continue
		}
		st.state = stateHosted
		if st.moved {
			h.notify(protocol.Event{
				Kind: protocol.ShardMoved, Shard: t.Shard, Peer: from, Token: t.Token, Took: h.arrives(t.Shard),
			})
		}
		if len(h.stops[t.Shard]) > 0 && !h.view.Closing {
			h.startMove(t.Shard)
		} else if p := h.regions.peers[from]; p != nil && p.leaving && !h.view.Closing && !h.now.Before(p.drainAt) &&
			h.regions.mayAllocate() {
			h.startMove(t.Shard)
		}
	}
}

// retryHosts repeats the commands that were not answered since the tick before.
func (h *homes) retryHosts() {
	asked := h.commanded
	slices.Sort(asked)
	h.commanded = nil
	for _, s := range slices.Compact(asked) {
		switch st := &h.shards[s]; {
		case st.state != stateHosting:
		case st.sent+1 < h.ticks:
			h.counts[protocol.CountRetries]++
			h.command(s)
		default:
			h.commanded = append(h.commanded, s)
		}
	}
}

// written goes on with a decision that a majority knows, if it still stands.
func (h *homes) written(e protocol.Entry) {
	switch st := &h.shards[e.Shard]; {
	case st.token != e.Token:
	case st.state == stateWriting:
		st.state = stateHosting
		h.command(e.Shard)
		h.tell(e)
	case st.state == stateClearing:
		h.cleared(e)
	}
}

// stands reports whether an entry whose write failed must still be written.
func (h *homes) stands(e protocol.Entry) bool {
	st := &h.shards[e.Shard]
	return (st.state == stateWriting || st.state == stateClearing) && st.token == e.Token
}

// load notes that a shard counts for a region, or does no more.
func (h *homes) load(u protocol.UID, s protocol.ShardID, counts bool) {
	p := h.regions.peers[u]
	if p == nil {
		return
	}
	if counts {
		p.count++
	} else {
		p.count--
	}
	h.picture.count(u, s, counts)
}

// overtaken answers an entry that this coordinator has not written: a deposed one had begun to
// write it. It writes its own again, or finds a home for a shard that it did not know of.
func (h *homes) overtaken(e protocol.Entry) {
	st, ok := h.at(e.Shard)
	if !ok || !st.token.Less(e.Token) || e.Token.Epoch > uint64(h.view.Epoch) {
		return
	}
	h.counts[protocol.CountOtherRole]++
	h.surpass(e.Token)
	switch {
	case st.state == stateUnallocated && e.Home == 0:
		st.token = e.Token
	case st.state == stateClearing:
		h.clear(e.Shard)
	case st.state == stateUnallocated && h.view.Closing:
		h.lose(e.Shard, true)
	case st.state == stateUnallocated:
		h.want(e.Shard)
	case st.state == stateHosting || st.state == stateHosted:
		h.place(e.Shard, st.home)
	}
}

// passOver gives a region no shards for a while.
func (h *homes) passOver(u protocol.UID) {
	if h.regions.passOver(u) {
		h.picture.changed()
	}
}
