package region

import (
	"maps"
	"slices"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// onBegin starts hand-offs here: the route changes to buffering first, then the fences go out, then
// the answer. A region in any state answers, also for hand-offs that are over.
func (r *Region) onBegin(from protocol.UID, moves []protocol.Move, regions []protocol.UID) {
	var acks, stopped []protocol.ShardToken
	var fencing []protocol.Move // that were begun before, and still are
	for _, m := range moves {
		p, ok := r.at(m.Shard)
		if !ok {
			continue
		}
		if m.HandOff.Less(r.floor) && !r.cfg.Defects.NoTokenCheck {
			r.counts[protocol.CountStale]++
			continue
		}
		ack := protocol.ShardToken{Shard: m.Shard, Token: m.HandOff}
		acks = append(acks, ack)
		if r.overtaken(p, m.HandOff) {
			r.counts[protocol.CountLate]++
			continue
		}
		p.barrier, p.owner = m.HandOff, m.Owner
		if m.Owner == r.self() {
			if g := r.moves[m.Shard]; g != nil && g.id == m.HandOff && len(g.need) > 0 {
				fencing = append(fencing, m)
			}
			if r.beginOwner(m, p, regions) {
				stopped = append(stopped, ack)
			}
			continue
		}
		if p.hosts() {
			r.kill(m.Shard, p, protocol.DropHomeElsewhere)
			r.notify(protocol.Event{Kind: protocol.HostElsewhere, Shard: m.Shard, Peer: m.Owner, Token: m.HandOff})
		}
		r.publish(m.Shard, p)
		r.do(protocol.SendFence{To: m.Owner, Shard: m.Shard, HandOff: m.HandOff})
	}
	if len(acks) > 0 {
		r.send(from, protocol.BeginAck{Shards: acks})
	}
	if len(stopped) > 0 {
		r.send(from, protocol.ShardsStopped{Shards: stopped})
	}
	r.askFences(fencing)
}

// askFences repeats Begin to the regions whose fences are still missing, and so has them fence
// again. The coordinator does not: it has their answers, and cannot know that a fence was lost.
func (r *Region) askFences(moves []protocol.Move) {
	missing := map[protocol.UID][]protocol.Move{}
	for _, m := range moves {
		for _, u := range r.moves[m.Shard].need {
			missing[u] = append(missing[u], m)
		}
	}
	for _, u := range slices.Sorted(maps.Keys(missing)) {
		for part := range slices.Chunk(missing[u], protocol.BatchMax) {
			r.counts[protocol.CountRetries]++
			r.send(u, protocol.Begin{Moves: part})
		}
	}
}

// beginOwner starts to give the shard up. It reports whether nothing of the shard runs here, so
// that it is given up already.
func (r *Region) beginOwner(m protocol.Move, p *place, regions []protocol.UID) bool {
	if r.alone {
		r.publish(m.Shard, p)
		return !p.hosts() // else it is stopping; the Begin will be repeated
	}
	switch p.phase {
	case protocol.PhaseNone, protocol.PhaseStopped:
		r.setPhase(p, protocol.PhaseStopped)
		r.moves[m.Shard] = &giveUp{id: m.HandOff}
		r.publish(m.Shard, p)
		return true
	case protocol.PhaseDraining, protocol.PhaseStopping:
		if r.moves[m.Shard].id == m.HandOff {
			return false // repeated
		}
		r.do(protocol.ResumeShard{Shard: m.Shard})
	default:
		if g := r.moves[m.Shard]; g != nil && g.id == m.HandOff {
			return false // repeated
		}
	}
	r.moves[m.Shard] = &giveUp{id: m.HandOff, need: r.fencesOf(m, regions)}
	if p.phase != protocol.PhaseStarting {
		r.setPhase(p, protocol.PhaseFencing)
	}
	r.publish(m.Shard, p)
	r.maybeDrain(m.Shard, p)
	return false
}

// fencesOf lists the regions whose fences this node awaits: all that take part in the hand-off
// except itself, those that are gone, and those whose fence came before the Begin.
func (r *Region) fencesOf(m protocol.Move, regions []protocol.UID) []protocol.UID {
	early := r.early[m.Shard]
	delete(r.early, m.Shard)
	if r.cfg.Defects.NoFence {
		return nil
	}
	var need []protocol.UID
	for _, u := range regions {
		if u == r.self() || r.gone(u, m.HandOff) || early.id == m.HandOff && slices.Contains(early.from, u) {
			continue
		}
		need = append(need, u)
	}
	return need
}

// onFence takes the fence of a peer for a shard that this node gives up, or keeps it when the Begin
// is still on its way.
func (r *Region) onFence(from protocol.UID, f protocol.Fence) {
	p, ok := r.at(f.Shard)
	if !ok {
		return
	}
	if g := r.moves[f.Shard]; g != nil && g.id == f.HandOff {
		g.need = protocol.Without(g.need, from)
		r.maybeDrain(f.Shard, p)
		return
	}
	if f.HandOff.Compare(p.barrier) <= 0 || r.overtaken(p, f.HandOff) {
		r.counts[protocol.CountLate]++
		return
	}
	if r.gone(from, f.HandOff) {
		r.counts[protocol.CountOtherRole]++
		return
	}
	e := r.early[f.Shard]
	if e.id.Less(f.HandOff) {
		e = earlyFences{id: f.HandOff}
	}
	if e.id == f.HandOff && len(e.from) < protocol.RegionsMax && !slices.Contains(e.from, from) {
		e.from = append(e.from, from)
	}
	r.early[f.Shard] = e
}

// gone reports whether a region has left the cluster since a hand-off began, so that no fence of it
// is awaited. A hand-off of a newer view than this node's may have regions that only that view has.
// They are registered and send, so their fences count before the view is here.
func (r *Region) gone(u protocol.UID, handOff protocol.Token) bool {
	return !r.inView(u) && !r.ahead(handOff)
}

// maybeDrain goes on when all fences are in. A shard that has not started and for which nothing
// waits is stopped at once; one with waiting messages must start first, unless it cannot, because
// it waits for its lease: then they go to the next home as they are.
func (r *Region) maybeDrain(s protocol.ShardID, p *place) {
	g := r.moves[s]
	if g == nil || len(g.need) > 0 {
		return
	}
	switch {
	case p.phase == protocol.PhaseFencing:
		r.setPhase(p, protocol.PhaseDraining)
		r.publish(s, p)
		r.do(protocol.DrainShard{Shard: s, HandOff: g.id})
	case p.phase == protocol.PhaseStarting && (!p.wanted || p.waits):
		r.setPhase(p, protocol.PhaseStopping)
		r.publish(s, p)
		r.do(protocol.StopShard{Shard: s, HandOff: g.id})
	}
}

func (r *Region) onShardDrained(s protocol.ShardID, id protocol.Token) {
	p, ok := r.at(s)
	if g := r.moves[s]; !ok || p.phase != protocol.PhaseDraining || g.id != id {
		r.counts[protocol.CountLate]++
		return
	}
	r.setPhase(p, protocol.PhaseStopping)
	r.do(protocol.StopShard{Shard: s, HandOff: id})
}

// onShardStopped reports the end of the shard, again and again until the next home is known.
func (r *Region) onShardStopped(s protocol.ShardID, id protocol.Token) {
	p, ok := r.at(s)
	if g := r.moves[s]; !ok || p.phase != protocol.PhaseStopping || g.id != id {
		r.counts[protocol.CountLate]++
		return
	}
	r.do(protocol.CloseShard{Shard: s})
	r.becomeStopped(s, p, id)
}

func (r *Region) becomeStopped(s protocol.ShardID, p *place, id protocol.Token) {
	if r.alone {
		r.setPhase(p, protocol.PhaseNone)
		delete(r.moves, s)
		p.home = 0
		r.publish(s, p)
		r.dropBuffer(s, p, r.noHome())
		return
	}
	r.setPhase(p, protocol.PhaseStopped)
	r.publish(s, p)
	if r.coordinator != 0 {
		r.send(r.coordinator, protocol.ShardsStopped{Shards: []protocol.ShardToken{{Shard: s, Token: id}}})
	}
}

func (r *Region) dropBuffer(s protocol.ShardID, p *place, why protocol.Reason) {
	if p.wanted {
		r.do(protocol.DropBuffer{Shard: s, Reason: why})
		r.unwant(p)
	}
}

// onLinkUp sends the fences again that may have been lost with the old connection.
func (r *Region) onLinkUp(peer protocol.UID) {
	for i := range r.shards {
		if p := &r.shards[i]; p.owner == peer && p.held() && peer != r.self() {
			r.do(protocol.SendFence{To: peer, Shard: protocol.ShardID(i), HandOff: p.barrier})
		}
	}
}
