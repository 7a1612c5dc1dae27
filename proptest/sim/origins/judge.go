package origins

import (
	"fmt"
	"slices"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/replica"
)

// Judge watches the clocks of one space of some data in one cluster. They have a row for each incarnation that
// may have made an event. When incarnations have retired, two rules bound that:
//
//   - A replica that was there when all agreed keeps no row of them once it has installed the view that says so.
//   - When all agree the next time, and none of them has a row of the last ones, none gets one again: neither from
//     a disk of before nor from a node that comes.
//
// So such a clock has a row for each incarnation that has come since, one for each member, and one more than these
// for what lies between them. An item of an incarnation that is over has one, too, if its key has become durable
// since. The zero Judge is ready to use.
type Judge struct {
	views    map[uint64]replica.View // the installed one of each replica, by uid
	ended    replica.Retirement      // the last that has ended
	agreedIn uint64                  // under which view
	floor    replica.Retirement      // of these no row is kept
	since    uint64                  // by those that have installed this view or a later one
	spared   int                     // the most that a retirement has spared

	// Most is how many rows a clock had at most since the second rule holds.
	Most int
}

// Installed takes a view that a replica has installed. clockOf returns the clock of a replica that lives, nil of
// others. It says what is wrong; empty: nothing is.
func (j *Judge) Installed(id uint64, v replica.View, clockOf func(id uint64) *crdt.Clock) string {
	if j.views == nil {
		j.views = map[uint64]replica.View{}
	}
	before := j.views[id]
	if before.Epoch >= v.Epoch {
		return ""
	}
	if v.AgreedIn > j.agreedIn {
		j.end(v, clockOf)
	}
	j.views[id] = v
	if before.Epoch == 0 || before.Epoch != v.AgreedIn || !listed(id, v) || !listed(id, before) {
		return ""
	}
	if o, kept := keeps(clockOf(id), v.Ended); kept {
		return fmt.Sprintf("all agreed on %v in view %d, and view %d leaves a row of %v",
			v.Ended, v.AgreedIn, v.Epoch, o)
	}
	return ""
}

// Gone forgets a replica.
func (j *Judge) Gone(id uint64) { delete(j.views, id) }

// end takes that a further retirement has ended.
func (j *Judge) end(v replica.View, clockOf func(id uint64) *crdt.Clock) {
	there, keep := 0, 0
	for id, at := range j.views { // order: only counts
		if at.Epoch < v.AgreedIn || !listed(id, at) {
			continue
		}
		if c := clockOf(id); c != nil {
			there++
			if _, kept := keeps(c, j.ended); kept {
				keep++
			}
		}
	}
	if there > 0 && keep == 0 && !j.ended.Empty() {
		j.floor, j.since = j.ended, v.AgreedIn
	}
	j.ended, j.agreedIn, j.spared = v.Ended, v.AgreedIn, max(j.spared, len(v.Ended.Spared))
}

// Look takes the clock of a replica that has caught up. It says what is wrong; empty: nothing is.
func (j *Judge) Look(id uint64, c *crdt.Clock) string {
	v := j.views[id]
	if v.Epoch < j.since || j.floor.Empty() || !listed(id, v) {
		return ""
	}
	rows, runs := 0, 0
	for r := range c.Rows(0) {
		switch rows++; {
		case r.Wide():
			runs++
		case r.Has(crdt.SeqMax):
			runs-- // an item of it was moved since, and it stands between two runs
		}
	}
	j.Most = max(j.Most, rows)
	if o, kept := keeps(c, j.floor); kept {
		return fmt.Sprintf("a row of %v in %v, and %v were over when all agreed in view %d", o, c, j.floor, j.since)
	}
	if most := 1 + max(j.spared, len(v.Voters)+len(v.Learners)); runs > most {
		return fmt.Sprintf("%d runs in %v, at most %d can be", runs, c, most)
	}
	return ""
}

// keeps looks for a row of an incarnation that is over.
func keeps(c *crdt.Clock, over replica.Retirement) (o crdt.Origin, kept bool) {
	for r := range c.Rows(0) {
		first, _ := r.Origins()
		if first >= over.Below {
			return 0, false
		}
		if !r.Has(crdt.SeqMax) && !slices.Contains(over.Spared, first) {
			return first, true
		}
	}
	return 0, false
}

// listed reports whether a view has a replica.
func listed(id uint64, v replica.View) bool {
	is := func(m replica.Member) bool { return uint64(m.ID) == id }
	return slices.ContainsFunc(v.Voters, is) || slices.ContainsFunc(v.Learners, is)
}
