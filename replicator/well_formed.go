package replicator

import (
	"slices"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/read"
	"github.com/coterie-go/coterie/replicator/repair"
	"github.com/coterie-go/coterie/replicator/wire"
	"github.com/coterie-go/coterie/replicator/write"
)

// wellFormed reports whether a message can be taken. What it must carry is there. No clock of a
// peer holds events of this replica that this replica has not made, and no clock of the volatile
// space holds moved items. Items have keys of this data. Those of groups are looked at when they are
// applied.
func wellFormed(spaces *[keyspace.Count]*space, msg wire.Message) bool {
	switch msg := msg.(type) {
	case *wire.Push:
		return msg.Space < keyspace.Count
	case *wire.Ack:
		return msg.Space < keyspace.Count && spaces[msg.Space].sane(msg.Extra)
	case *wire.Holdings:
		return true
	case *wire.Unstored:
		return len(msg.Why) <= write.WhyMax
	case *wire.Clock:
		return msg.Space < keyspace.Count && msg.Content != nil && spaces[msg.Space].sane(msg.Content, msg.Acked) &&
			(msg.Acked == nil || msg.Content.Includes(msg.Acked))
	case *wire.Fetch:
		return msg.Space < keyspace.Count && msg.Dots != nil
	case *wire.LogTruncated:
		return msg.Space < keyspace.Count
	case *wire.Ask:
		return msg.Space < keyspace.Count
	case *wire.Answer:
		return msg.Space < keyspace.Count && spaces[msg.Space].sane(msg.Extra)
	case *wire.Compare:
		return msg.Space < keyspace.Count && msg.More != nil && len(msg.Keys) <= read.ComparedMax &&
			spaces[msg.Space].sane(msg.More)
	case *wire.Compared:
		return msg.Space < keyspace.Count && spaces[msg.Space].sane(msg.Extra)
	case *wire.Report:
		return msg.Space < keyspace.Count && spaces[msg.Space].sane(msg.Acked)
	case *wire.Pull:
		return msg.Space < keyspace.Count && msg.Content != nil && spaces[msg.Space].sane(msg.Content)
	case *wire.Head:
		return msg.Space < keyspace.Count && msg.Clock != nil && spaces[msg.Space].sane(msg.Clock)
	case *wire.MoreCells:
		return msg.Space < keyspace.Count
	case *wire.Cells:
		return msg.Space < keyspace.Count
	case *wire.FetchItems:
		return msg.Space < keyspace.Count && msg.Kind < repair.Kinds && msg.Dots != nil
	case *wire.Items:
		return msg.Space < keyspace.Count && spaces[msg.Space].ownAll(msg.Items)
	case *wire.Done:
		return msg.Space < keyspace.Count
	case *wire.Refuse:
		return msg.Space < keyspace.Count
	case *wire.Part, *wire.PartAck:
		return true
	}
	return false
}

// sane reports whether clocks of a peer hold what a peer can have of a space.
func (s *space) sane(clocks ...*crdt.Clock) bool {
	for _, c := range clocks {
		if c != nil && (c.LastEvent(s.Cfg.Self) > s.Items.Seq() || s.ID == keyspace.Volatile && c.HasMoved()) {
			return false
		}
	}
	return true
}

// ownAll reports whether the keys of items are of this data.
func (s *space) ownAll(items []*crdt.Item) bool {
	return !slices.ContainsFunc(items, func(it *crdt.Item) bool { return s.CheckKey(it.Key) != nil })
}
