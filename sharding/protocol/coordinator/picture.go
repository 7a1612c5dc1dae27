package coordinator

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// record is what a strategy that needs loads is told of a shard beside its home.
type record struct {
	meter   allocation.Meter
	movedAt time.Time
}

// picture is what a strategy sees of the shards and regions. It is made anew when regions come, go
// or change; the load of a region follows each decision.
type picture struct {
	alloc     *allocation.Allocations             // nil: to be made anew
	grouped   map[protocol.UID][]protocol.ShardID // by home, as far as asked for; nil: to be made anew
	needs     allocation.Needs
	records   []record                    // by ShardID, if the strategy needs loads
	locations map[protocol.ShardID]string // if the strategy needs them
	moving    bool                        // the last round of rebalancing moved shards
	regionsAt time.Time                   // when members last came, went or changed
}

// begin makes room for what the strategy needs of so many shards.
func (pc *picture) begin(shards int) {
	if pc.needs.Locations {
		pc.locations = map[protocol.ShardID]string{}
	}
	if pc.needs.Loads {
		pc.records = make([]record, shards)
	}
}

// changed has the picture made anew.
func (pc *picture) changed() { pc.alloc = nil }

// regionsChanged has the picture made anew, and notes when.
func (pc *picture) regionsChanged(now time.Time) { pc.alloc, pc.regionsAt = nil, now }

// count notes that a shard counts for a region, or does no more.
func (pc *picture) count(u protocol.UID, s protocol.ShardID, counts bool) {
	pc.grouped = nil
	switch {
	case pc.alloc == nil:
	case counts:
		pc.alloc.Add(u, s)
	default:
		pc.alloc.Remove(u, s)
	}
}

// moves notes that a shard is put on the move.
func (pc *picture) moves(s protocol.ShardID, now time.Time) {
	if pc.needs.Loads {
		pc.records[s].movedAt = now
	}
}

// report takes a load of a shard.
func (pc *picture) report(s protocol.ShardID, l allocation.Load, now time.Time) {
	pc.records[s].meter.Report(now, l, pc.needs.LoadHalfLife)
}

// follow takes what an outside client wants.
func (pc *picture) follow(in protocol.LocationsChanged) {
	if !pc.needs.Locations {
		return
	}
	for _, l := range in.Put {
		pc.locations[l.Shard] = l.Addr
	}
	for _, s := range in.Removed {
		delete(pc.locations, s)
	}
}

// facts are the coordinator's, as a strategy asks for them.
type facts struct{ h *homes }

var _ allocation.Facts = facts{}

// ShardsOf implements allocation.Facts. Earliest allocated first is the order of tokens.
func (f facts) ShardsOf(u protocol.UID) []protocol.ShardID {
	h, pc := f.h, &f.h.picture
	if pc.grouped == nil {
		pc.grouped = map[protocol.UID][]protocol.ShardID{}
	}
	ss, known := pc.grouped[u]
	if !known {
		ss = slices.DeleteFunc(h.byHome.of(h.shards, u), func(s protocol.ShardID) bool { return !h.shards[s].counts() })
		slices.SortFunc(ss, func(a, b protocol.ShardID) int { return h.shards[a].token.Compare(h.shards[b].token) })
		pc.grouped[u] = ss
	}
	return slices.Clone(ss)
}

// Load implements allocation.Facts.
func (f facts) Load(s protocol.ShardID) (allocation.Load, bool) {
	if int(s) >= len(f.h.picture.records) {
		return allocation.Load{}, false
	}
	return f.h.picture.records[s].meter.At(f.h.now, f.h.picture.needs.LoadHalfLife)
}

// MovedAt implements allocation.Facts.
func (f facts) MovedAt(s protocol.ShardID) time.Time {
	if int(s) >= len(f.h.picture.records) {
		return time.Time{}
	}
	return f.h.picture.records[s].movedAt
}

// Location implements allocation.Facts.
func (f facts) Location(s protocol.ShardID) string { return f.h.picture.locations[s] }

// onLoads takes what a region has measured of the shards that it hosts.
func (h *homes) onLoads(from protocol.UID, m protocol.Loads) {
	if !h.picture.needs.Loads {
		h.counts[protocol.CountIgnored]++
		return
	}
	per := 1 / m.Period.Seconds()
	for _, l := range m.Shards {
		st, ok := h.at(l.Shard)
		if !ok {
			continue
		}
		if st.home != from || st.state != stateHosted {
			h.counts[protocol.CountLate]++
			continue
		}
		h.picture.report(l.Shard, allocation.Load{
			Messages: float64(l.Messages) * per, HandlerTime: l.HandlerTime.Seconds() * per,
			Entities: float64(l.Entities),
		}, h.now)
	}
	if h.picture.alloc != nil {
		h.picture.alloc.LoadsChanged()
	}
}
