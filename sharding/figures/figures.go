package figures

import (
	"fmt"
	"strings"
	"time"

	"github.com/coterie-go/coterie/ddata/console/api"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Control is what the control plane of a type has counted.
type Control interface {
	// Count is how often an event of a kind was noted.
	Count(protocol.EventKind) uint64
	// Moves is how long the last move and the longest one took.
	Moves() (last, longest time.Duration)
}

// UID names a node as the API does.
func UID(u view.UID) string {
	if u == 0 {
		return ""
	}
	return fmt.Sprintf("%016x", uint64(u))
}

// TypeOf is what a node says of a type. What only its settings say is left to the caller.
func TypeOf(r *dataplane.Plane, c Control) api.Type {
	s := dataplane.CountStats(r)
	x := api.Type{
		Name: r.Name, Role: r.Role, Proxy: r.Proxy, Shards: len(r.Routes.Slots),
		Coordinator: UID(r.Standing.Coordinator()), Coordinating: r.Standing.Coordinates.Load(),
		Hosted: s.Shards, Awaiting: s.Awaiting, Entities: s.Entities, Active: s.Active, Limit: s.Limit,
		Waiting: api.Waiting{
			Buffered: s.Buffered, BufferedBytes: r.Routes.Limit.Bytes.Load(), MailboxBytes: s.Held, Queued: s.Queued,
			Results: s.Results, Overdue: s.Overdue, Asks: s.Asks,
		},
		Work: api.Work{
			Workers: s.Workers, Slow: s.Slow, AsksTimedOut: s.AsksTimedOut, Restored: s.Restored, Panics: s.Panics,
		},
		Forced: s.Forced, LeasesLost: s.LeasesLost,
		Passivated: map[string]uint64{}, Dropped: map[string]uint64{}, Alarms: alarms(c),
		Moves: moves(c, r.Standing.Moving()),
	}
	if m := r.Entities.Meters; m != nil {
		x.Work.Handled = m.Handled()
	}
	if why := r.Standing.Uncoordinated(); why != nil {
		x.Why = why.Error()
	} else {
		x.Registered = true
	}
	for _, p := range s.Passivated {
		x.Passivated[p.Cause.String()] = p.Count
	}
	for _, d := range s.Drops {
		x.Dropped[strings.ReplaceAll(d.Reason.String(), " ", "-")] = d.Count
	}
	return x
}

func alarms(c Control) map[string]uint64 {
	all := map[string]uint64{}
	for k := protocol.EventKind(1); k < protocol.EventEnd; k++ {
		if n := c.Count(k); n > 0 && (protocol.Event{Kind: k}).Alarm() {
			all[k.String()] = n
		}
	}
	return all
}

func moves(c Control, underWay int) api.Moves {
	last, longest := c.Moves()
	return api.Moves{
		UnderWay: underWay,
		Done:     c.Count(protocol.ShardMoved), Aborted: c.Count(protocol.HandOffAborted),
		LastMillis: last.Milliseconds(), MaxMillis: longest.Milliseconds(),
	}
}

// ShardsOf is a page of the shards of a type: their homes as the node knows them, and what is here.
func ShardsOf(r *dataplane.Plane, from, limit int) []api.Shard {
	end := min(len(r.Routes.Slots), max(0, from)+max(0, limit))
	all := make([]api.Shard, 0, max(0, end-from))
	for n := max(0, from); n < end; n++ {
		all = append(all, shardOf(r, uint32(n)))
	}
	return all
}

// MovingOf is a shard on its way as the API has it.
func MovingOf(m protocol.Moving) *api.Moving {
	x := &api.Moving{From: UID(m.From), To: UID(m.To), Phase: m.Phase, Awaits: m.Awaits}
	if !m.Since.IsZero() {
		since := m.Since.UTC()
		x.Since = &since
	}
	return x
}

func shardOf(r *dataplane.Plane, number uint32) api.Shard {
	x := api.Shard{Shard: int(number), Buffered: r.Routes.Buffered(number)}
	if s := r.Routes.Hosted[number].Load(); s != nil { // also while its route waits to be opened
		x.Node = UID(view.UID(r.Self))
		x.Entities, x.Active, x.Waits = s.Count(), max(0, s.Active()), r.AwaitsLease(number)
		return x
	}
	home, _ := r.Routes.Home(number)
	x.Node = UID(home)
	return x
}

// EntityOf is where an entity is and what it does, as the node knows.
func EntityOf(r *dataplane.Plane, id string) api.Entity {
	number := r.Routes.ShardOf(id)
	shard := shardOf(r, number)
	x := api.Entity{Type: r.Name, ID: id, Shard: int(number), Node: shard.Node, Doing: shard.Waits}
	s := r.Routes.Hosted[number].Load()
	if s == nil {
		if shard.Buffered > 0 {
			x.Waiting = shard.Buffered
			x.Doing = "its shard has no home that is known here: messages for the shard wait"
		}
		return x
	}
	if e := s.Peek(id); e != nil {
		st := e.State()
		x.Active, x.Waiting, x.Doing = st.Started, st.Waiting, doing(r, e, x.Doing)
	}
	return x
}

// doing says what an entity does, if that is more than to be there.
func doing(r *dataplane.Plane, e *entities.Entity, otherwise string) string {
	if running := r.Entities.Slow.Running(e); running != "" {
		return running
	}
	if waiting := r.Entities.Waits.Of(e); waiting != "" {
		return waiting
	}
	if why := entities.AwaitsRestart(e); why != nil {
		return fmt.Sprintf("it waits for its restart, because it has failed: %v", why)
	}
	return otherwise
}

// Joined makes one text of several, without those that are empty.
func Joined(texts []string) string {
	var all []string
	for _, t := range texts {
		if t != "" {
			all = append(all, t)
		}
	}
	return strings.Join(all, "; ")
}
