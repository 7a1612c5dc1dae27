package dataplane

import (
	"slices"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
)

// Bounds of what is answered.
const (
	InspectIDBytes = 1 << 20 // of ids
	inspectionsMax = 16      // answered at one time
)

// receiveInspect answers beside the reader of the connection: to list what runs here takes a while.
func (r *Plane) receiveInspect(from uint64, rd *cbor.Reader) {
	call, what, id := rd.Uint(), codec.Inspection(rd.UintMax(uint64(codec.InspectEnd)-1)), string(rd.RawText(cbor.Any))
	if rd.Err() != nil || what == 0 || len(id) > idMax || len(rd.Rest()) > 0 {
		r.malformed(from)
		return
	}
	env := mailbox.Envelope{Call: call, Origin: from}
	if r.inspections.Add(1) > inspectionsMax {
		r.inspections.Add(-1)
		r.Out.ReplyError(env, codec.StatusFull, "too many inspections at one time")
		return
	}
	if !r.Ctl.Aside(func() {
		defer r.inspections.Add(-1)
		_ = r.Out.Reply(call, from, r.Inspect(what, id), nil) // counted when it cannot be sent
	}) {
		r.inspections.Add(-1)
		r.Out.ReplyError(env, codec.StatusStopped, "")
	}
}

// Inspect looks at what is hosted here.
func (r *Plane) Inspect(what codec.Inspection, id string) codec.State {
	w := codec.State{Proxy: r.Proxy, Registered: r.Standing.hosts()}
	number, room := r.Routes.ShardOf(id), InspectIDBytes
	for _, s := range r.Routes.Shards() {
		if what == codec.InspectEntity && s.Number != number {
			continue
		}
		sh := codec.StateShard{Number: s.Number, Entities: uint32(s.Count()), Alive: uint32(max(0, s.Active()))}
		w.Entities, w.Active = w.Entities+sh.Entities, w.Active+sh.Alive
		switch what {
		case codec.InspectTotals:
			continue
		case codec.InspectIDs:
			w.Cut = activeIDs(s, &sh.IDs, &room) || w.Cut
		case codec.InspectEntity:
			sh.Entities, sh.Alive = 0, 0
			if e := s.Find(id); e != nil && e.State().Started {
				sh.Entities, sh.Alive = 1, 1
			}
		}
		w.Shards = append(w.Shards, sh)
	}
	return w
}

// activeIDs lists the ids of active entities while there is room, and reports whether there was too
// little.
func activeIDs(s *entities.Shard, ids *[]string, room *int) (cut bool) {
	for _, e := range s.All() {
		if !e.State().Started {
			continue
		}
		if len(e.ID) > *room {
			cut = true
			break
		}
		*room -= len(e.ID)
		*ids = append(*ids, e.ID)
	}
	slices.Sort(*ids)
	return cut
}
