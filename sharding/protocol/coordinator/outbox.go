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

// writeRegions has the list of regions changed.
func (o *outbox) writeRegions(add, remove []protocol.UID) {
	o.addRegions = append(o.addRegions, add...)
	o.removeRegions = append(o.removeRegions, remove...)
}

// flush turns the outbox into effects. Without a lease nothing is written or sent: writes stay,
// messages are lost and repeated later.
func (o *outbox) flush(e *env, sr *store) {
	if !e.lease {
		*o = outbox{puts: o.puts, addRegions: o.addRegions, removeRegions: o.removeRegions}
		return
	}
	o.flushWrites(sr)
	e.fx.Send = append(e.fx.Send, o.messages...)
	o.flushBegins(e)
	flushParts(e, o.hosts, func(part []protocol.ShardToken) protocol.Message {
		return protocol.HostShards{Shards: part}
	})
	flushParts(e, o.homes, func(part []protocol.Entry) protocol.Message {
		return protocol.Homes{Sure: true, Entries: part}
	})
	flushParts(e, o.rests, func(part []protocol.ShardID) protocol.Message { return protocol.AtRest{Shards: part} })
	flushParts(e, o.ends, func(part []protocol.ShardID) protocol.Message { return protocol.Ended{Shards: part} })
	*o = outbox{puts: o.puts}
}

// flushParts says what was gathered for each receiver, in as many messages as that needs. Most Steps have gathered
// nothing.
func flushParts[T any](e *env, of map[protocol.UID][]T, say func([]T) protocol.Message) {
	if len(of) == 0 {
		return
	}
	for _, to := range slices.Sorted(maps.Keys(of)) {
		for part := range slices.Chunk(of[to], protocol.BatchMax) {
			e.fx.Send = append(e.fx.Send, protocol.Envelope{To: to, Msg: say(part)})
		}
	}
}

// tableWritesMax bounds the writes of the table under way, and tableBatchMax the entries of one: every
// replica applies them in one step, and tells its region of them.
const (
	tableWritesMax = 4
	tableBatchMax  = 1024
)

// flushWrites writes the table with few writes under way: what is decided meanwhile travels
// together in the next one.
func (o *outbox) flushWrites(sr *store) {
	for len(o.puts) > 0 && sr.tableWrites < tableWritesMax {
		n := min(len(o.puts), tableBatchMax)
		sr.write(protocol.StateWrite{Kind: protocol.StateHomes, Homes: o.puts[:n:n]})
		o.puts = o.puts[n:]
	}
	if len(o.addRegions)+len(o.removeRegions) > 0 {
		sr.write(protocol.StateWrite{
			Kind: protocol.StateRegions, AddRegions: o.addRegions, RemoveRegions: o.removeRegions,
		})
	}
}

// flushBegins sends the hand-offs, grouped by receiver and by the members that take part. Only an
// owner needs to know these members.
func (o *outbox) flushBegins(e *env) {
	bs := o.begins
	var fresh []protocol.Begin // the same to all
	if o.cohort != nil {
		for part := range slices.Chunk(o.cohort.moves, protocol.BatchMax) {
			fresh = append(fresh, protocol.Begin{Moves: part})
		}
		for _, u := range o.cohort.regions {
			bs = append(bs, addressedMove{to: u, cohort: o.cohort})
		}
	}
	slices.SortStableFunc(bs, func(a, b addressedMove) int {
		return cmp.Or(cmp.Compare(a.to, b.to), cmp.Compare(a.cohort.seq, b.cohort.seq))
	})
	for len(bs) > 0 {
		first := bs[0]
		if first.cohort == o.cohort {
			bs = bs[1:]
			o.sendFresh(e, first.to, fresh)
			continue
		}
		var m protocol.Begin
		for len(bs) > 0 && bs[0].to == first.to && bs[0].cohort == first.cohort && len(m.Moves) < protocol.BatchMax {
			m.Moves = append(m.Moves, bs[0].move)
			if bs[0].move.Owner == first.to {
				m.Regions = first.cohort.regions
			}
			bs = bs[1:]
		}
		e.fx.Send = append(e.fx.Send, protocol.Envelope{To: first.to, Msg: m})
	}
}

// sendFresh sends the hand-offs of a cohort that begin in this Step to one of its members.
func (o *outbox) sendFresh(e *env, to protocol.UID, fresh []protocol.Begin) {
	for _, m := range fresh {
		if slices.ContainsFunc(m.Moves, func(mv protocol.Move) bool { return mv.Owner == to }) {
			m.Regions = o.cohort.regions
		}
		e.fx.Send = append(e.fx.Send, protocol.Envelope{To: to, Msg: m})
	}
}
