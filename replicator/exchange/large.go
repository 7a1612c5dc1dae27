package exchange

import (
	"errors"
	"fmt"
	"slices"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/push"
)

// largeGroups is groups that are applied one after the other, each in several steps and shown at one moment.
//
// Invariant (check): only the first is under way, and not beside a repair, which has the store's one merge then.
type largeGroups struct {
	groups []largeGroup
	bytes  int
}

// largeGroup is one of them.
type largeGroup struct {
	from  crdt.Origin
	group crdt.Group
	bytes int
	merge *crdt.Merging // nil: it has not begun
}

// has reports whether a group is one of them.
func (q *largeGroups) has(g crdt.Group) bool {
	return slices.ContainsFunc(q.groups, func(l largeGroup) bool { return l.group[0].Dot == g[0].Dot })
}

// add takes a group, up to bytesMax bytes of them or one.
func (q *largeGroups) add(from crdt.Origin, g crdt.Group, bytesMax int) bool {
	size := push.Weigh(g)
	if len(q.groups) > 0 && q.bytes+size > bytesMax {
		return false
	}
	q.groups = append(q.groups, largeGroup{from: from, group: g, bytes: size})
	q.bytes += size
	return true
}

// pop drops the first.
func (q *largeGroups) pop() {
	q.bytes -= q.groups[0].bytes
	q.groups = slices.Delete(q.groups, 0, 1)
}

// ready reports whether there is something to do now.
func (q *largeGroups) ready(s *crdt.Replica) bool {
	return len(q.groups) > 0 && (q.groups[0].merge != nil || !s.Merges())
}

// stop ends what is under way, without a trace. It begins anew later.
func (q *largeGroups) stop() {
	if len(q.groups) > 0 && q.groups[0].merge != nil {
		q.groups[0].merge.Drop()
		q.groups[0].merge = nil
	}
}

// forget drops the groups of origins that are gone.
func (q *largeGroups) forget(gone func(crdt.Origin) bool) {
	if len(q.groups) > 0 && gone(q.groups[0].group[0].Dot.Origin) {
		q.stop()
	}
	q.groups = slices.DeleteFunc(q.groups, func(l largeGroup) bool {
		is := gone(l.group[0].Dot.Origin)
		if is {
			q.bytes -= l.bytes
		}
		return is
	})
}

// check returns a broken invariant.
func (q *largeGroups) check(s *crdt.Replica) error {
	bytes := 0
	for i, l := range q.groups {
		if bytes += l.bytes; l.merge != nil && (i > 0 || l.merge.Over() || !s.Merges()) {
			return fmt.Errorf("large group %v is under way, at place %d of all that wait", l.group[0].Dot, i)
		}
	}
	if bytes != q.bytes {
		return errors.New("the bytes of large groups are counted wrong")
	}
	return nil
}

// takeLarge takes a group that is applied in steps.
func (n *Intake) takeLarge(from crdt.Origin, g crdt.Group) (crdt.Outcome, error) {
	outcome, err := n.r.Items.Look(g, &n.r.Changes)
	switch {
	case err != nil || outcome != crdt.Applied:
		return outcome, err
	case n.large.has(g):
		return crdt.Duplicate, nil
	case !n.large.add(from, g, n.r.Cfg.GroupMax):
		n.r.Counters.WaitingDropped++
	}
	return 0, nil
}

// goOn applies some more of the first large group, unless a repair is taken now.
func (n *Intake) goOn() {
	l := &n.large.groups[0]
	if l.merge == nil {
		if n.r.Items.Merges() {
			return
		}
		if l.merge = n.r.Items.BeginApply(l.group); l.merge == nil { // a repair has brought it
			n.large.pop()
			return
		}
	}
	if done, _ := l.merge.Work(n.perStep()); !done { // Look has checked the events: there is no error
		return
	}
	merge, from := l.merge, l.group[0].Dot.Origin
	n.large.pop()
	n.r.Counters.Applied++
	n.r.AbsorbLater(merge.Take())
	if p := n.r.Peer(from); p != nil {
		n.acks.owe(p)
	}
	n.Release()
}

// GiveWay ends the steps of a large group, for a repair that is taken. They begin anew after it, unless it has
// brought the group.
func (n *Intake) GiveWay() { n.large.stop() }
