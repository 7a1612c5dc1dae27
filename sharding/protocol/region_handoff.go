package protocol

import (
	"maps"
	"slices"
)

// onBegin starts hand-offs here: the route changes to buffering first, then the fences go out, then
// the answer. A region in any state answers, also for hand-offs that are over.
func (r *Region) onBegin(from UID, moves []Move, regions []UID) {
	var acks, stopped []ShardToken
	var fencing []Move // that were begun before, and still are
	for _, m := range moves {
		p, ok := r.at(m.Shard)
		if !ok {
			continue
		}
		if m.HandOff.Less(r.floor) && !r.cfg.Faults.NoTokenCheck {
			r.counts[countStale]++
			continue
		}
		ack := ShardToken{Shard: m.Shard, Token: m.HandOff}
		acks = append(acks, ack)
		if r.overtaken(p, m.HandOff) {
			r.counts[countLate]++
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
			r.kill(m.Shard, p, DropHomeElsewhere)
			r.notify(Event{Kind: HostElsewhere, Shard: m.Shard, Peer: m.Owner, Token: m.HandOff})
		}
		r.publish(m.Shard, p)
		r.do(SendFence{To: m.Owner, Shard: m.Shard, HandOff: m.HandOff})
	}
	if len(acks) > 0 {
		r.send(from, BeginAck{Shards: acks})
	}
	if len(stopped) > 0 {
		r.send(from, ShardsStopped{Shards: stopped})
	}
	r.askFences(fencing)
}

// askFences repeats Begin to the regions whose fences are still missing, and so has them fence
// again. The coordinator does not: it has their answers, and cannot know that a fence was lost.
func (r *Region) askFences(moves []Move) {
	missing := map[UID][]Move{}
	for _, m := range moves {
		for _, u := range r.moves[m.Shard].need {
			missing[u] = append(missing[u], m)
		}
	}
	for _, u := range slices.Sorted(maps.Keys(missing)) {
		for part := range slices.Chunk(missing[u], batchMax) {
			r.counts[countRetries]++
			r.send(u, Begin{Moves: part})
		}
	}
}

// beginOwner starts to give the shard up. It answers whether nothing of the shard runs here, so
// that it is given up already.
func (r *Region) beginOwner(m Move, p *place, regions []UID) bool {
	if r.alone {
		r.publish(m.Shard, p)
		return !p.hosts() // else it is stopping; the Begin will be repeated
	}
	switch p.phase {
	case PhaseNone, PhaseStopped:
		r.setPhase(p, PhaseStopped)
		r.moves[m.Shard] = &giveUp{id: m.HandOff}
		r.publish(m.Shard, p)
		return true
	case PhaseDraining, PhaseStopping:
		if r.moves[m.Shard].id == m.HandOff {
			return false // repeated
		}
		r.do(ResumeShard{Shard: m.Shard})
	default:
		if g := r.moves[m.Shard]; g != nil && g.id == m.HandOff {
			return false // repeated
		}
	}
	r.moves[m.Shard] = &giveUp{id: m.HandOff, need: r.fencesOf(m, regions)}
	if p.phase != PhaseStarting {
		r.setPhase(p, PhaseFencing)
	}
	r.publish(m.Shard, p)
	r.maybeDrain(m.Shard, p)
	return false
}

// fencesOf lists the regions whose fences this node awaits: all that take part in the hand-off
// except itself, those that are gone, and those whose fence came before the Begin.
func (r *Region) fencesOf(m Move, regions []UID) []UID {
	early := r.early[m.Shard]
	delete(r.early, m.Shard)
	if r.cfg.Faults.NoFence {
		return nil
	}
	var need []UID
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
func (r *Region) onFence(from UID, f Fence) {
	p, ok := r.at(f.Shard)
	if !ok {
		return
	}
	if g := r.moves[f.Shard]; g != nil && g.id == f.HandOff {
		g.need = without(g.need, from)
		r.maybeDrain(f.Shard, p)
		return
	}
	if f.HandOff.Compare(p.barrier) <= 0 || r.overtaken(p, f.HandOff) {
		r.counts[countLate]++
		return
	}
	if r.gone(from, f.HandOff) {
		r.counts[countOtherRole]++
		return
	}
	e := r.early[f.Shard]
	if e.id.Less(f.HandOff) {
		e = earlyFences{id: f.HandOff}
	}
	if e.id == f.HandOff && len(e.from) < regionsMax && !slices.Contains(e.from, from) {
		e.from = append(e.from, from)
	}
	r.early[f.Shard] = e
}

// gone reports whether a region has left the cluster since a hand-off began, so that no fence of it
// is awaited. A hand-off of a newer view than this node's may have regions that only that view has.
// They are registered and send, so their fences count before the view is here.
func (r *Region) gone(u UID, handOff Token) bool { return !r.inView(u) && !r.ahead(handOff) }

// maybeDrain goes on when all fences are in. A shard that has not started and for which nothing
// waits is stopped at once; one with waiting messages must start first, unless it cannot, because
// it waits for its lease: then they go to the next home as they are.
func (r *Region) maybeDrain(s ShardID, p *place) {
	g := r.moves[s]
	if g == nil || len(g.need) > 0 {
		return
	}
	switch {
	case p.phase == PhaseFencing:
		r.setPhase(p, PhaseDraining)
		r.publish(s, p)
		r.do(DrainShard{Shard: s, HandOff: g.id})
	case p.phase == PhaseStarting && (!p.wanted || p.waits):
		r.setPhase(p, PhaseStopping)
		r.publish(s, p)
		r.do(StopShard{Shard: s, HandOff: g.id})
	}
}

func (r *Region) onShardDrained(s ShardID, id Token) {
	p, ok := r.at(s)
	if g := r.moves[s]; !ok || p.phase != PhaseDraining || g.id != id {
		r.counts[countLate]++
		return
	}
	r.setPhase(p, PhaseStopping)
	r.do(StopShard{Shard: s, HandOff: id})
}

// onShardStopped reports the end of the shard, again and again until the next home is known.
func (r *Region) onShardStopped(s ShardID, id Token) {
	p, ok := r.at(s)
	if g := r.moves[s]; !ok || p.phase != PhaseStopping || g.id != id {
		r.counts[countLate]++
		return
	}
	r.do(CloseShard{Shard: s})
	r.becomeStopped(s, p, id)
}

func (r *Region) becomeStopped(s ShardID, p *place, id Token) {
	if r.alone {
		r.setPhase(p, PhaseNone)
		delete(r.moves, s)
		p.home = 0
		r.publish(s, p)
		r.dropBuffer(s, p, r.noHome())
		return
	}
	r.setPhase(p, PhaseStopped)
	r.publish(s, p)
	if r.coordinator != 0 {
		r.send(r.coordinator, ShardsStopped{Shards: []ShardToken{{Shard: s, Token: id}}})
	}
}

func (r *Region) dropBuffer(s ShardID, p *place, why Reason) {
	if p.wanted {
		r.do(DropBuffer{Shard: s, Reason: why})
		r.unwant(p)
	}
}

// onLinkUp sends the fences again that may have been lost with the old connection.
func (r *Region) onLinkUp(peer UID) {
	for i := range r.shards {
		if p := &r.shards[i]; p.owner == peer && p.held() && peer != r.self() {
			r.do(SendFence{To: peer, Shard: ShardID(i), HandOff: p.barrier})
		}
	}
}

func without(us []UID, u UID) []UID {
	return slices.DeleteFunc(us, func(x UID) bool { return x == u })
}
