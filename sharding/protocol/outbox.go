package protocol

import (
	"cmp"
	"maps"
	"slices"
)

// outbox gathers what one Step of the coordinator says, so that each receiver gets one message of
// each kind.
type outbox struct {
	puts                      []Entry
	addRegions, removeRegions []UID
	messages                  []Envelope
	homes                     map[UID][]Entry
	hosts                     map[UID][]ShardToken
	rests, ends               map[UID][]ShardID
	begins                    []addressedMove
	cohort                    *cohort // of hand-offs begun in this Step
}

type addressedMove struct {
	to     UID
	cohort *cohort
	move   Move
}

func (o *outbox) send(to UID, m Message) { o.messages = append(o.messages, Envelope{To: to, Msg: m}) }

func (o *outbox) home(to UID, e Entry) {
	if o.homes == nil {
		o.homes = map[UID][]Entry{}
	}
	o.homes[to] = append(o.homes[to], e)
}

func (o *outbox) host(to UID, t ShardToken) {
	if o.hosts == nil {
		o.hosts = map[UID][]ShardToken{}
	}
	o.hosts[to] = append(o.hosts[to], t)
}

func (o *outbox) rest(to UID, s ShardID) { addShard(&o.rests, to, s) }
func (o *outbox) end(to UID, s ShardID)  { addShard(&o.ends, to, s) }

func addShard(m *map[UID][]ShardID, to UID, s ShardID) {
	if *m == nil {
		*m = map[UID][]ShardID{}
	}
	(*m)[to] = append((*m)[to], s)
}

func (o *outbox) begin(to UID, c *cohort, m Move) {
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
		for part := range slices.Chunk(c.out.hosts[to], batchMax) {
			c.fx.Send = append(c.fx.Send, Envelope{To: to, Msg: HostShards{Shards: part}})
		}
	}
	for _, to := range slices.Sorted(maps.Keys(c.out.homes)) {
		for part := range slices.Chunk(c.out.homes[to], batchMax) {
			c.fx.Send = append(c.fx.Send, Envelope{To: to, Msg: Homes{Sure: true, Entries: part}})
		}
	}
	c.flushShards(c.out.rests, func(part []ShardID) Message { return AtRest{Shards: part} })
	c.flushShards(c.out.ends, func(part []ShardID) Message { return Ended{Shards: part} })
	c.out = outbox{puts: c.out.puts}
}

func (c *Coordinator) flushShards(of map[UID][]ShardID, say func([]ShardID) Message) {
	for _, to := range slices.Sorted(maps.Keys(of)) {
		for part := range slices.Chunk(of[to], batchMax) {
			c.fx.Send = append(c.fx.Send, Envelope{To: to, Msg: say(part)})
		}
	}
}

// flushWrites writes the table with few writes under way: what is decided meanwhile travels
// together in the next one.
func (c *Coordinator) flushWrites() {
	for len(c.out.puts) > 0 && c.tableWrites < tableWritesMax {
		n := min(len(c.out.puts), batchMax)
		c.write(StateWrite{Kind: StateHomes, Homes: c.out.puts[:n:n]})
		c.out.puts = c.out.puts[n:]
	}
	if len(c.out.addRegions)+len(c.out.removeRegions) > 0 {
		c.write(StateWrite{Kind: StateRegions, AddRegions: c.out.addRegions, RemoveRegions: c.out.removeRegions})
	}
}

func (c *Coordinator) write(w StateWrite) {
	w.ID = c.nextID()
	c.writes[w.ID] = w
	c.tableWrites += count(w.Kind == StateHomes)
	c.fx.Write = append(c.fx.Write, w)
}

// retryWrites repeats what failed, as far as it still stands.
func (c *Coordinator) retryWrites() {
	failed := c.failed
	c.failed = nil
	for _, w := range failed {
		w.Homes = slices.DeleteFunc(slices.Clone(w.Homes), func(e Entry) bool {
			st := &c.shards[e.Shard]
			return st.state != stateWriting && st.state != stateClearing || st.token != e.Token
		})
		if len(w.Homes)+len(w.AddRegions)+len(w.RemoveRegions)+len(w.RemoveIDs)+len(w.RemoveShards) > 0 {
			c.counts[countRetries]++
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
		var m Begin
		for len(bs) > 0 && bs[0].to == first.to && bs[0].cohort == first.cohort && len(m.Moves) < batchMax {
			m.Moves = append(m.Moves, bs[0].move)
			if bs[0].move.Owner == first.to {
				m.Regions = first.cohort.regions
			}
			bs = bs[1:]
		}
		c.fx.Send = append(c.fx.Send, Envelope{To: first.to, Msg: m})
	}
}
