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

// facts are the coordinator's, as a strategy asks for them.
type facts struct{ c *Coordinator }

var _ allocation.Facts = facts{}

// ShardsOf implements allocation.Facts. Earliest allocated first is the order of tokens.
func (f facts) ShardsOf(u protocol.UID) []protocol.ShardID {
	c := f.c
	if c.grouped == nil {
		c.grouped = map[protocol.UID][]protocol.ShardID{}
		for i := range c.shards {
			if st := &c.shards[i]; st.counts() {
				c.grouped[st.home] = append(c.grouped[st.home], protocol.ShardID(i))
			}
		}
		for _, ss := range c.grouped { // order: each list is sorted by itself
			slices.SortFunc(ss, func(a, b protocol.ShardID) int { return c.shards[a].token.Compare(c.shards[b].token) })
		}
	}
	return slices.Clone(c.grouped[u])
}

// Load implements allocation.Facts.
func (f facts) Load(s protocol.ShardID) (allocation.Load, bool) {
	if int(s) >= len(f.c.records) {
		return allocation.Load{}, false
	}
	return f.c.records[s].meter.At(f.c.now, f.c.needs.LoadHalfLife)
}

// MovedAt implements allocation.Facts.
func (f facts) MovedAt(s protocol.ShardID) time.Time {
	if int(s) >= len(f.c.records) {
		return time.Time{}
	}
	return f.c.records[s].movedAt
}

// Location implements allocation.Facts.
func (f facts) Location(s protocol.ShardID) string { return f.c.locations[s] }

// rests notes that a shard is put on the move.
func (c *Coordinator) rests(s protocol.ShardID) {
	if c.needs.Loads {
		c.records[s].movedAt = c.now
	}
}

// onLoads takes what a region has measured of the shards that it hosts.
func (c *Coordinator) onLoads(from protocol.UID, m protocol.Loads) {
	if !c.needs.Loads {
		c.counts[protocol.CountIgnored]++
		return
	}
	per := 1 / m.Period.Seconds()
	for _, l := range m.Shards {
		st, ok := c.at(l.Shard)
		if !ok {
			continue
		}
		if st.home != from || st.state != stateHosted {
			c.counts[protocol.CountLate]++
			continue
		}
		c.records[l.Shard].meter.Report(c.now, allocation.Load{
			Messages: float64(l.Messages) * per, HandlerTime: l.HandlerTime.Seconds() * per, Entities: float64(l.Entities),
		}, c.needs.LoadHalfLife)
	}
	if c.alloc != nil {
		c.alloc.LoadsChanged()
	}
}

// onLocations follows what an outside client wants.
func (c *Coordinator) onLocations(in protocol.LocationsChanged) {
	if !c.needs.Locations || c.mode <= leaseWaiting {
		return
	}
	for _, l := range in.Put {
		c.locations[l.Shard] = l.Addr
	}
	for _, s := range in.Removed {
		delete(c.locations, s)
	}
}
