package region

import (
	"maps"
	"slices"

	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// onBegin starts hand-offs here: the route changes to buffering first, then the fences go out, then
// the answer. A region in any state answers, also for hand-offs that are over.
func (ps *places) onBegin(from protocol.UID, moves []protocol.Move, regions []protocol.UID) {
	var acks, stopped []protocol.ShardToken
	var fencing []protocol.Move // that were begun before, and still are
	for _, m := range moves {
		p, ok := ps.at(m.Shard)
		if !ok {
			continue
		}
		if m.HandOff.Less(ps.registration.floor) && !ps.cfg.Planted(defect.NoTokenCheck) {
			ps.counts[protocol.CountStale]++
			continue
		}
		ack := protocol.ShardToken{Shard: m.Shard, Token: m.HandOff}
		acks = append(acks, ack)
		if ps.overtaken(p, m.HandOff) {
			ps.counts[protocol.CountLate]++
			continue
		}
		p.barrier, p.owner = m.HandOff, m.Owner
		if m.Owner == ps.self() {
			if g := ps.moves[m.Shard]; g != nil && g.id == m.HandOff && len(g.need) > 0 {
				fencing = append(fencing, m)
			}
			if ps.beginOwner(m, p, regions) {
				stopped = append(stopped, ack)
			}
			continue
		}
		if p.hosts() {
			ps.kill(m.Shard, p, protocol.DropHomeElsewhere)
			ps.notify(protocol.Event{Kind: protocol.HostElsewhere, Shard: m.Shard, Peer: m.Owner, Token: m.HandOff})
		}
		ps.publish(m.Shard, p)
		ps.do(protocol.SendFence{To: m.Owner, Shard: m.Shard, HandOff: m.HandOff})
	}
	if len(acks) > 0 {
		ps.send(from, protocol.BeginAck{Shards: acks})
	}
	if len(stopped) > 0 {
		ps.send(from, protocol.ShardsStopped{Shards: stopped})
	}
	ps.askFences(fencing)
}

// askFences repeats Begin to the regions whose fences are still missing, and so has them fence
// again. The coordinator does not: it has their answers, and cannot know that a fence was lost.
func (ps *places) askFences(moves []protocol.Move) {
	missing := map[protocol.UID][]protocol.Move{}
	for _, m := range moves {
		for _, u := range ps.moves[m.Shard].need {
			missing[u] = append(missing[u], m)
		}
	}
	for _, u := range slices.Sorted(maps.Keys(missing)) {
		for part := range slices.Chunk(missing[u], protocol.BatchMax) {
			ps.counts[protocol.CountRetries]++
			ps.send(u, protocol.Begin{Moves: part})
		}
	}
}

// beginOwner starts to give the shard up. It reports whether nothing of the shard runs here, so
// that it is given up already.
func (ps *places) beginOwner(m protocol.Move, p *place, regions []protocol.UID) bool {
	if ps.departure.alone {
		ps.publish(m.Shard, p)
		return !p.hosts() // else it is stopping; the Begin will be repeated
	}
	switch p.phase {
	case protocol.PhaseNone, protocol.PhaseStopped:
		ps.setPhase(p, protocol.PhaseStopped)
		ps.moves[m.Shard] = &giveUp{id: m.HandOff}
		ps.publish(m.Shard, p)
		return true
	case protocol.PhaseDraining, protocol.PhaseStopping:
		if ps.moves[m.Shard].id == m.HandOff {
			return false // repeated
		}
		ps.setPhase(p, resumed(p.phase))
		ps.do(protocol.ResumeShard{Shard: m.Shard})
	default:
		if g := ps.moves[m.Shard]; g != nil && g.id == m.HandOff {
			return false // repeated
		}
	}
	ps.moves[m.Shard] = &giveUp{id: m.HandOff, need: ps.fencesOf(m, regions)}
	if p.phase != protocol.PhaseStarting {
		ps.setPhase(p, protocol.PhaseFencing)
	}
	ps.publish(m.Shard, p)
	ps.maybeDrain(m.Shard, p)
	return false
}

// fencesOf lists the regions whose fences this node awaits: all that take part in the hand-off
// except itself, those that are gone, and those whose fence came before the Begin.
func (ps *places) fencesOf(m protocol.Move, regions []protocol.UID) []protocol.UID {
	early := ps.early[m.Shard]
	delete(ps.early, m.Shard)
	if ps.cfg.Planted(defect.NoFence) {
		return nil
	}
	var need []protocol.UID
	for _, u := range regions {
		if u == ps.self() || ps.gone(u, m.HandOff) || early.id == m.HandOff && slices.Contains(early.from, u) {
			continue
		}
		need = append(need, u)
	}
	return need
}

// onFence takes the fence of a peer for a shard that this node gives up, or keeps it when the Begin
// is still on its way.
func (ps *places) onFence(from protocol.UID, f protocol.Fence) {
	p, ok := ps.at(f.Shard)
	if !ok {
		return
	}
	if g := ps.moves[f.Shard]; g != nil && g.id == f.HandOff {
		g.need = protocol.Without(g.need, from)
		ps.maybeDrain(f.Shard, p)
		return
	}
	if f.HandOff.Compare(p.barrier) <= 0 || ps.overtaken(p, f.HandOff) {
		ps.counts[protocol.CountLate]++
		return
	}
	if ps.gone(from, f.HandOff) {
		ps.counts[protocol.CountOtherRole]++
		return
	}
	e := ps.early[f.Shard]
	if e.id.Less(f.HandOff) {
		e = earlyFences{id: f.HandOff}
	}
	if e.id == f.HandOff && len(e.from) < protocol.RegionsMax && !slices.Contains(e.from, from) {
		e.from = append(e.from, from)
	}
	ps.early[f.Shard] = e
}

// gone reports whether a region has left the cluster since a hand-off began, so that no fence of it
// is awaited. A hand-off of a newer view than this node's may have regions that only that view has.
// They are registered and send, so their fences count before the view is here.
func (ps *places) gone(u protocol.UID, handOff protocol.Token) bool {
	return !ps.inView(u) && !ps.ahead(handOff)
}

// maybeDrain goes on when all fences are in. A shard that has not started and for which nothing
// waits is stopped at once; one with waiting messages must start first, unless it cannot, because
// it waits for its lease: then they go to the next home as they are.
func (ps *places) maybeDrain(s protocol.ShardID, p *place) {
	g := ps.moves[s]
	if g == nil || len(g.need) > 0 {
		return
	}
	switch {
	case p.phase == protocol.PhaseFencing:
		ps.setPhase(p, protocol.PhaseDraining)
		ps.publish(s, p)
		ps.do(protocol.DrainShard{Shard: s, HandOff: g.id})
	case p.phase == protocol.PhaseStarting && (!p.wanted || p.waits):
		ps.setPhase(p, protocol.PhaseStopping)
		ps.publish(s, p)
		ps.do(protocol.StopShard{Shard: s, HandOff: g.id})
	}
}

func (ps *places) onShardDrained(s protocol.ShardID, id protocol.Token) {
	p, ok := ps.at(s)
	if g := ps.moves[s]; !ok || p.phase != protocol.PhaseDraining || g.id != id {
		ps.counts[protocol.CountLate]++
		return
	}
	ps.setPhase(p, protocol.PhaseStopping)
	ps.do(protocol.StopShard{Shard: s, HandOff: id})
}

// onShardStopped reports the end of the shard, again and again until the next home is known.
func (ps *places) onShardStopped(s protocol.ShardID, id protocol.Token) {
	p, ok := ps.at(s)
	if g := ps.moves[s]; !ok || p.phase != protocol.PhaseStopping || g.id != id {
		ps.counts[protocol.CountLate]++
		return
	}
	ps.do(protocol.CloseShard{Shard: s})
	ps.becomeStopped(s, p, id)
}

func (ps *places) becomeStopped(s protocol.ShardID, p *place, id protocol.Token) {
	if ps.departure.alone {
		ps.setPhase(p, protocol.PhaseNone)
		delete(ps.moves, s)
		p.home = 0
		ps.publish(s, p)
		ps.dropBuffer(s, p, ps.departure.noHome())
		return
	}
	ps.setPhase(p, protocol.PhaseStopped)
	ps.publish(s, p)
	if ps.registration.coordinator != 0 {
		ps.send(ps.registration.coordinator, protocol.ShardsStopped{
			Shards: []protocol.ShardToken{{Shard: s, Token: id}},
		})
	}
}

func (ps *places) dropBuffer(s protocol.ShardID, p *place, why protocol.Reason) {
	if p.wanted {
		ps.do(protocol.DropBuffer{Shard: s, Reason: why})
		ps.unwant(p)
	}
}

// onLinkUp sends the fences again that may have been lost with the old connection.
func (ps *places) onLinkUp(peer protocol.UID) {
	ps.visitActive(func(s protocol.ShardID, p *place) {
		if p.owner == peer && p.held() && peer != ps.self() {
			ps.do(protocol.SendFence{To: peer, Shard: s, HandOff: p.barrier})
		}
	})
}
