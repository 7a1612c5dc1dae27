package sharding

import (
	"slices"

	"github.com/coterie-go/coterie/sharding/codec"

	"github.com/coterie-go/coterie/crdt/cbor"
)

// Bounds of what is answered.
const (
	inspectIDBytes = 1 << 20 // of ids
	inspectionsMax = 16      // answered at one time
)

// receiveInspect answers beside the reader of the connection: to list what runs here takes a while.
func (r *core) receiveInspect(from uint64, rd *cbor.Reader) {
	call, what, id := rd.Uint(), codec.Inspection(rd.UintMax(uint64(codec.InspectEnd)-1)), string(rd.RawText(cbor.Any))
	if rd.Err() != nil || what == 0 || len(id) > idMax || len(rd.Rest()) > 0 {
		r.malformed(from)
		return
	}
	env := envelope{call: call, origin: from}
	if r.inspections.Add(1) > inspectionsMax {
		r.inspections.Add(-1)
		r.out.replyError(env, codec.StatusFull, "too many inspections at one time")
		return
	}
	if !r.ctl.aside(func() {
		defer r.inspections.Add(-1)
		_ = r.out.reply(call, from, r.inspect(what, id), nil) // counted when it cannot be sent
	}) {
		r.inspections.Add(-1)
		r.out.replyError(env, codec.StatusStopped, "")
	}
}

// inspect looks at what is hosted here.
func (r *core) inspect(what codec.Inspection, id string) codec.State {
	w := codec.State{Proxy: r.proxy, Registered: r.standing.serves()}
	number, room := r.routes.shardOf(id), inspectIDBytes
	for _, s := range r.idleScan.shards() {
		if what == codec.InspectEntity && s.number != number {
			continue
		}
		sh := codec.StateShard{Number: s.number, Entities: uint32(s.count()), Alive: uint32(max(0, s.active.Load()))}
		w.Entities, w.Active = w.Entities+sh.Entities, w.Active+sh.Alive
		switch what {
		case codec.InspectTotals:
			continue
		case codec.InspectIDs:
			w.Cut = s.activeIDs(&sh.IDs, &room) || w.Cut
		case codec.InspectEntity:
			sh.Entities, sh.Alive = 0, 0
			if e := s.find(id); e != nil && e.isStarted() {
				sh.Entities, sh.Alive = 1, 1
			}
		}
		w.Shards = append(w.Shards, sh)
	}
	return w
}

// activeIDs lists the ids of active entities while there is room, and reports whether there was too
// little.
func (s *shard) activeIDs(ids *[]string, room *int) (cut bool) {
	for _, e := range s.snapshot() {
		if !e.isStarted() {
			continue
		}
		if len(e.id) > *room {
			cut = true
			break
		}
		*room -= len(e.id)
		*ids = append(*ids, e.id)
	}
	slices.Sort(*ids)
	return cut
}
