package coordinator

import "github.com/coterie-go/coterie/sharding/protocol"

// Moving are the shards on their way among those from a number on and before another, by number. The caller may keep
// it. A coordinator that does not act knows of none.
func Moving(c *Coordinator, from, end protocol.ShardID) (all []protocol.Moving) {
	if !c.Acts() {
		return nil
	}
	h := &c.term.homes
	for s := from; s < end && int64(s) < int64(len(h.shards)); s++ {
		st := &h.shards[s]
		if !st.moved {
			continue
		}
		l := h.departed[s] // nothing, if it was on its way when this coordinator took over
		m := protocol.Moving{Shard: s, From: l.from, Phase: shardStepNames[st.state], Since: l.at}
		switch st.state {
		case stateFencing, stateStopping:
			m.From = st.home
		case stateWriting, stateHosting:
			m.To = st.home
		}
		if g := h.moves[s]; g != nil {
			m.Awaits = g.waiting.count
		}
		all = append(all, m)
	}
	return all
}

// Departed is how many shards a coordinator knows to have been on their way since it acts.
func Departed(c *Coordinator) int { return len(c.term.homes.departed) }
