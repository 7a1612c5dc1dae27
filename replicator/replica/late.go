package replica

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// late is the changes that the watchers and the disk have not followed yet, because they are many: what merges in
// steps have made, and what came after that. They stay in order, because an item that was put may have been dropped
// since. The content clock has them all. So no batch begins while there are any.
type late struct {
	waits []change // oldest first
	added int      // items in waits that have been added since FollowLate was called last
	now   bool     // a piece is being followed
}

// change is what one merge has changed; or what one call of the store has, which the watchers have seen.
type change struct {
	merged       *crdt.Merged
	put, dropped []*crdt.Item
}

// queue takes changes for the disk if others wait before them.
func (l *late) queue(ch *crdt.Changes) bool {
	if len(l.waits) == 0 {
		return false
	}
	l.waits = append(l.waits, change{put: slices.Clone(ch.Put), dropped: slices.Clone(ch.Dropped)})
	l.added += 1 + len(ch.Put) + len(ch.Dropped)
	return true
}

// AbsorbLater follows a merge, by and by: FollowLate does.
func (r *Replica) AbsorbLater(m *crdt.Merged) {
	r.contentMoved()
	r.Eff.Changed = r.Eff.Changed || m.Len() > 0
	r.late.waits = append(r.late.waits, change{merged: m})
	r.Disk.Hold(true)
	r.FollowLate()
}

// FollowLate follows some of the changes that wait: Config.StepItems, and more than are added.
func (r *Replica) FollowLate() {
	l := &r.late
	left := r.Cfg.StepItems + 2*l.added
	for l.added = 0; len(l.waits) > 0 && left > 0; left-- {
		c := &l.waits[0]
		if c.merged != nil && c.merged.Len() > 0 {
			c.merged.Next(&r.Changes)
			l.now = true
			for _, w := range r.Watchers {
				w.Touch(r)
			}
			l.now = false
			c.put, c.dropped = r.Changes.Put, r.Changes.Dropped
		}
		if r.ID == keyspace.Durable {
			r.Disk.Fold(c.put, c.dropped)
		}
		left -= len(c.put) + len(c.dropped)
		if c.put, c.dropped = nil, nil; c.merged == nil || c.merged.Len() == 0 {
			l.waits = slices.Delete(l.waits, 0, 1)
		}
		r.Changes.Reset()
	}
	if len(l.waits) == 0 {
		r.Disk.Hold(false)
	}
}

// IsLate reports whether there are changes that the watchers and the disk have not followed.
func (r *Replica) IsLate() bool { return len(r.late.waits) > 0 }

// FollowsLate reports whether the changes that a Watcher is shown are some of those of a merge: others of the same
// keys may come.
func (r *Replica) FollowsLate() bool { return r.late.now }

// Deadline is when to call FollowLate; zero: never.
func (r *Replica) Deadline() time.Time {
	if r.IsLate() {
		return r.Now
	}
	return time.Time{}
}
