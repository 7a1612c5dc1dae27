package coordinator

import (
	"cmp"
	"maps"
	"slices"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// outbox gathers what one Step of the coordinator says, so that each receiver gets one message of
// each kind.
type outbox struct {
	puts                      []protocol.Entry
	addRegions, removeRegions []protocol.UID
	messages                  []protocol.Envelope
	homes                     map[protocol.UID][]protocol.Entry
	hosts                     map[protocol.UID][]protocol.ShardToken
	rests, ends               map[protocol.UID][]protocol.ShardID
	begins                    []addressedMove
	cohort                    *cohort // of hand-offs begun in this Step
}

type addressedMove struct {
	to     protocol.UID
	cohort *cohort
	move   protocol.Move
}

func (o *outbox) send(to protocol.UID, m protocol.Message) {
	o.messages = append(o.messages, protocol.Envelope{To: to, Msg: m})
}

func (o *outbox) home(to protocol.UID, e protocol.Entry) {
	if o.homes == nil {
		o.homes = map[protocol.UID][]protocol.Entry{}
	}
	o.homes[to] = append(o.homes[to], e)
}

func (o *outbox) host(to protocol.UID, t protocol.ShardToken) {
	if o.hosts == nil {
		o.hosts = map[protocol.UID][]protocol.ShardToken{}
	}
	o.hosts[to] = append(o.hosts[to], t)
}

func (o *outbox) rest(to protocol.UID, s protocol.ShardID) { addShard(&o.rests, to, s) }

func (o *outbox) end(to protocol.UID, s protocol.ShardID) { addShard(&o.ends, to, s) }

func addShard(m *map[protocol.UID][]protocol.ShardID, to protocol.UID, s protocol.ShardID) {
	if *m == nil {
		*m = map[protocol.UID][]protocol.ShardID{}
	}
	(*m)[to] = append((*m)[to], s)
}

func (o *outbox) begin(to protocol.UID, c *cohort, m protocol.Move) {
	o.begins = append(o.begins, addressedMove{to: to, cohort: c, move: m})
}

// flush turns the outbox into effects. Without a lease nothing is written or sent: writes stay,
// messages are lost and repeated later.
func (c *Coordinator) flush() {
	c.out.cohort = nil
	if !c.lease {
		c.out = outbox{puts: c.out.puts, addRegions: c.out.addRegions, removeRegions: c.out.removeRegions}
		return
	}
	c.flushWrites()
	c.fx.Send = append(c.fx.Send, c.out.messages...)
	c.flushBegins()
	for _, to := range slices.Sorted(maps.Keys(c.out.hosts)) {
		for part := range slices.Chunk(c.out.hosts[to], protocol.BatchMax) {
			c.fx.Send = append(c.fx.Send, protocol.Envelope{To: to, Msg: protocol.HostShards{Shards: part}})
		}
	}
	for _, to := range slices.Sorted(maps.Keys(c.out.homes)) {
		for part := range slices.Chunk(c.out.homes[to], protocol.BatchMax) {
			c.fx.Send = append(c.fx.Send, protocol.Envelope{To: to, Msg: protocol.Homes{Sure: true, Entries: part}})
		}
	}
	c.flushShards(c.out.rests, func(part []protocol.ShardID) protocol.Message { return protocol.AtRest{Shards: part} })
	c.flushShards(c.out.ends, func(part []protocol.ShardID) protocol.Message { return protocol.Ended{Shards: part} })
	c.out = outbox{puts: c.out.puts}
}

func (c *Coordinator) flushShards(of map[protocol.UID][]protocol.ShardID, say func([]protocol.ShardID) protocol.Message) {
	for _, to := range slices.Sorted(maps.Keys(of)) {
		for part := range slices.Chunk(of[to], protocol.BatchMax) {
			c.fx.Send = append(c.fx.Send, protocol.Envelope{To: to, Msg: say(part)})
		}
	}
}

// tableWritesMax bounds the writes of the table under way.
const tableWritesMax = 4

// flushWrites writes the table with few writes under way: what is decided meanwhile travels
// together in the next one.
func (c *Coordinator) flushWrites() {
	for len(c.out.puts) > 0 && c.tableWrites < tableWritesMax {
		n := min(len(c.out.puts), protocol.BatchMax)
		c.write(protocol.StateWrite{Kind: protocol.StateHomes, Homes: c.out.puts[:n:n]})
		c.out.puts = c.out.puts[n:]
	}
	if len(c.out.addRegions)+len(c.out.removeRegions) > 0 {
		c.write(protocol.StateWrite{Kind: protocol.StateRegions, AddRegions: c.out.addRegions, RemoveRegions: c.out.removeRegions})
	}
}

func (c *Coordinator) write(w protocol.StateWrite) {
	w.ID = c.nextID()
	c.writes[w.ID] = w
	if w.Kind == protocol.StateHomes {
		c.tableWrites++
	}
	c.fx.Write = append(c.fx.Write, w)
}

// retryWrites repeats what failed, as far as it still stands.
func (c *Coordinator) retryWrites() {
	failed := c.failed
	c.failed = nil
	for _, w := range failed {
		w.Homes = slices.DeleteFunc(slices.Clone(w.Homes), func(e protocol.Entry) bool {
			st := &c.shards[e.Shard]
			return st.state != stateWriting && st.state != stateClearing || st.token != e.Token
		})
		if len(w.Homes)+len(w.AddRegions)+len(w.RemoveRegions)+len(w.RemoveIDs)+len(w.RemoveShards) > 0 {
			c.counts[protocol.CountRetries]++
			c.write(w)
		}
	}
}

// flushBegins sends the hand-offs, grouped by receiver and by the members that take part. Only an
// owner needs to know these members.
func (c *Coordinator) flushBegins() {
	bs := c.out.begins
	slices.SortStableFunc(bs, func(a, b addressedMove) int {
		return cmp.Or(cmp.Compare(a.to, b.to), cmp.Compare(a.cohort.seq, b.cohort.seq))
	})
	for len(bs) > 0 {
		first := bs[0]
		var m protocol.Begin
		for len(bs) > 0 && bs[0].to == first.to && bs[0].cohort == first.cohort && len(m.Moves) < protocol.BatchMax {
			m.Moves = append(m.Moves, bs[0].move)
			if bs[0].move.Owner == first.to {
				m.Regions = first.cohort.regions
			}
			bs = bs[1:]
		}
		c.fx.Send = append(c.fx.Send, protocol.Envelope{To: first.to, Msg: m})
	}
}
