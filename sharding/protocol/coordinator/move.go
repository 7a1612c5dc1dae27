package coordinator

import (
	"maps"
	"slices"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// move is a hand-off in progress.
type move struct {
	id       protocol.Token
	waiting  waiting // for members of its cohort
	deadline time.Time
	sent     uint32
	ends     bool // no home comes after
}

// startMove begins the hand-off of a hosted shard.
func (h *homes) startMove(s protocol.ShardID) {
	st := &h.shards[s]
	h.load(st.home, s, false)
	h.picture.moves(s, h.now)
	st.state = stateFencing
	h.departs(s)
	if h.out.cohort == nil {
		h.out.cohort = newCohort(h.seq, h.regions.audience())
	}
	m := &move{
		id: h.next(), waiting: awaitAll(h.out.cohort), sent: h.ticks,
		deadline: h.now.Add(h.cfg.HandOff.BeginTimeout),
	}
	h.moves[s] = m
	h.counts[protocol.CountHandOffs]++
	h.out.cohort.moves = append(h.out.cohort.moves, h.asMove(s))
}

// leave is how a shard has left its home, or is about to: since when it is on its way, and from where.
type leave struct {
	at   time.Time
	from protocol.UID
}

// departs notes that a shard is on its way from its home, and since when; arrives how long that
// took.
func (h *homes) departs(s protocol.ShardID) {
	h.shards[s].moved = true
	if _, already := h.departed[s]; !already {
		h.departed[s] = leave{h.now, h.shards[s].home}
	}
}

func (h *homes) arrives(s protocol.ShardID) (took time.Duration) {
	h.shards[s].moved = false
	if l, ok := h.departed[s]; ok {
		took = h.now.Sub(l.at)
		delete(h.departed, s)
	}
	return took
}

func (h *homes) asMove(s protocol.ShardID) protocol.Move {
	return protocol.Move{Shard: s, HandOff: h.moves[s].id, Owner: h.shards[s].home}
}

// moveOf finds the hand-off that a report is about; late reports are counted.
func (h *homes) moveOf(t protocol.ShardToken) (*move, bool) {
	if m := h.moves[t.Shard]; m != nil && m.id == t.Token {
		return m, true
	}
	h.counts[protocol.CountLate]++
	return nil, false
}

func (h *homes) onBeginAck(from protocol.UID, sts []protocol.ShardToken) {
	for _, t := range sts {
		if m, ok := h.moveOf(t); ok {
			m.waiting.answered(from)
			h.maybeStopping(t.Shard, m)
		}
	}
}

func (h *homes) maybeStopping(s protocol.ShardID, m *move) {
	if st := &h.shards[s]; st.state == stateFencing && m.waiting.count == 0 {
		st.state = stateStopping
		m.deadline = h.now.Add(h.cfg.HandOff.FinishTimeout)
	}
}

// dislodged finds a home for a shard whose home has given it up by itself, but is there. While the
// whole cluster shuts down nothing moves: it starts again where it was, unless that is leaving.
func (h *homes) dislodged(s protocol.ShardID, from protocol.UID) {
	switch {
	case !h.view.Closing:
		h.vacate(s)
	case h.regions.eligible(from):
		h.place(s, from)
	default:
		h.lose(s, true)
	}
}

// abort takes a hand-off back: the owner's entry is written again under a higher token, so that
// every buffer is released to it.
func (h *homes) abort(s protocol.ShardID, m *move) {
	owner := h.shards[s].home
	h.counts[protocol.CountAborts]++
	delete(h.stops, s) // a region that wants it asks again
	h.notify(protocol.Event{Kind: protocol.HandOffAborted, Shard: s, Peer: owner, Token: m.id, Count: m.waiting.count})
	if p := h.regions.peers[owner]; p != nil {
		p.drainAt = h.now.Add(2 * h.cfg.Coordination.RetryInterval)
	}
	h.place(s, owner)
}

// retryMoves gives up hand-offs whose phase took too long. It repeats Begin to the members that
// have not answered.
func (h *homes) retryMoves() {
	for _, s := range slices.Sorted(maps.Keys(h.moves)) {
		m := h.moves[s]
		if !h.now.Before(m.deadline) {
			h.abort(s, m)
			continue
		}
		if m.sent+1 >= h.ticks {
			continue
		}
		m.sent = h.ticks
		for _, u := range m.waiting.list() {
			h.counts[protocol.CountRetries]++
			h.out.begin(u, m.waiting.cohort, h.asMove(s))
		}
		if m.waiting.count == 0 { // the owner may have missed nothing but a reason to report again
			h.out.begin(h.shards[s].home, m.waiting.cohort, h.asMove(s))
		}
	}
}

// onShardsStopped ends the old home of shards. Only the owner's word counts, and only about the
// hand-off in progress, or about the very command by which it hosted: then it has given the shard
// up by itself. It may come before the last BeginAck: the owner has all fences, an answer was lost.
func (h *homes) onShardsStopped(from protocol.UID, sts []protocol.ShardToken) {
	for _, t := range sts {
		if st, ok := h.at(t.Shard); ok && st.givenUp(from, t.Token) {
			h.departs(t.Shard)
			if h.cfg.Leases.Shards.Given() { // it has lost that
				h.passOver(from)
			}
			h.picture.moves(t.Shard, h.now)
			h.dislodged(t.Shard, from)
			continue
		}
		m, ok := h.moveOf(t)
		if !ok {
			continue
		}
		if h.shards[t.Shard].home != from {
			h.counts[protocol.CountOtherRole]++
			continue
		}
		h.counts[protocol.CountMoves]++
		if m.ends {
			h.clear(t.Shard)
			continue
		}
		h.vacate(t.Shard)
	}
}

// dropGone forgets the fences and answers of members that are gone, and moves on what lived there:
// the view that dropped a member proves that its lease is over.
func (h *homes) dropGone(gone []protocol.UID) {
	var lost []protocol.ShardID
	for _, u := range gone {
		lost = append(lost, h.byHome.of(h.shards, u)...)
	}
	slices.Sort(lost)
	for _, s := range lost {
		h.picture.moves(s, h.now)
		h.lose(s, h.view.Closing)
	}
	for _, s := range slices.Sorted(maps.Keys(h.moves)) {
		m := h.moves[s]
		for _, u := range gone {
			m.waiting.answered(u)
		}
		h.maybeStopping(s, m)
	}
}
