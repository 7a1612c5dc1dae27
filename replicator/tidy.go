package replicator

import (
	"time"

	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/operation"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/replica"
)

// One replica, the oldest voter, tidies up for all. It uses ordinary events. It removes items that
// no reader is shown any more (crdt.Replica.Sweep). It removes keys that were not written to for
// too long (expire.go). It folds what removed members have counted (fold.go, fold_closed.go). Two
// replicas may tidy up at the same time, because one of them lives in an older view. That does no
// harm: what they remove they have observed, and what they fold all members have (fold.go), or only
// one of them may fold (fold_closed.go).
//
// Some members are gone, and some are about to come; neither are in the view, so their content
// looks alike. But content comes here by a chain of messages. Each message names an epoch in which
// the writer was a member, or a later one. So a replica that has heard of no newer view than its
// own knows that members outside the view are gone for good.

// Bounds of one round of tidying.
const (
	tidyItems = 1024 // that one group removes
	tidyKeys  = 256  // that expire together
	tidyScan  = 4096 // items looked at for counts to fold
)

// tidying is the work of the replica that tidies up, and the rounds in which it does it.
type tidying struct {
	*replica.Site
	spaces  [keyspace.Count]*space
	ops     *operation.Inflight
	move    *move
	expiry  expiry
	folding folding
	closed  closedFolding
	at      time.Time // next round
}

func newTidying(t *replica.Site, spaces [keyspace.Count]*space, ops *operation.Inflight, mv *move) tidying {
	return tidying{
		Site: t, spaces: spaces, ops: ops, move: mv, expiry: newExpiry(t),
		folding: newFolding(spaces[keyspace.Volatile]), closed: newClosedFolding(spaces[keyspace.Durable]),
	}
}

// onTime does what has fallen due.
func (t *tidying) onTime() {
	if t.Due(&t.at) {
		t.tidy()
	}
	if at := t.expiry.next(); !at.IsZero() && !t.Now.Before(at) {
		t.askExpiry()
	}
}

// leave forgets what is planned, when this replica is no member any more.
func (t *tidying) leave() {
	t.at = time.Time{}
	t.expiry.leave()
	t.closed.leave()
}

// plan sees that there is a time for what there is to do.
func (t *tidying) plan() {
	if !t.at.IsZero() || !t.Tidies() {
		return
	}
	litter := t.spaces[keyspace.Volatile].Store.Littered() || t.spaces[keyspace.Durable].Store.Littered()
	if litter || t.folding.pending() || t.closed.pending() || t.move.mayClear() {
		t.at = t.Now.Add(t.Cfg.RetryInterval)
	}
}

// tidy does one round.
func (t *tidying) tidy() {
	if !t.Tidies() {
		for _, s := range t.spaces {
			t.expiry.forgetConfirmed(s.ID)
		}
		return
	}
	more := false
	if t.move.number == 0 { // else a move must find the counts as all have them
		var again time.Time
		if more, again = t.folding.fold(); !again.IsZero() {
			t.at = again
		}
	}
	more = t.closed.fold() || more
	more = t.move.clear() || more
	for _, s := range t.spaces {
		if s.holding.Crowded() { // a peer that answers is far behind already
			more = true
			continue
		}
		if s.ID == keyspace.Durable || t.move.number == 0 { // else it might change what is being moved
			more = s.sweep() || more
		}
		t.expireConfirmed(s)
	}
	if more {
		t.at = t.Now.Add(t.Cfg.GapDelay) // time for others to get a word in
	}
}

// askExpiry asks a majority what it has of the keys that are due.
func (t *tidying) askExpiry() {
	t.expiry.tryAt = t.Now.Add(t.Cfg.RetryInterval)
	if t.ops.Pending()+int(keyspace.Count) > t.Cfg.PendingMax {
		return
	}
	for i, keys := range t.expiry.due() {
		if len(keys) == 0 {
			continue
		}
		space := keyspace.Space(i)
		t.expiry.ask(space, keys)
		confirm := func(err error) { t.confirmExpiry(space, err) }
		if t.Cfg.Planted(defect.ExpireUnasked) {
			confirm(nil)
		} else {
			o := &operation.Op{Key: keys[0], Level: quorum.Majority, Space: space, Read: true, Then: confirm}
			t.spaces[space].reads.Begin(o, 0)
		}
	}
}

// confirmExpiry says that a majority has been heard, or not in time. The keys go with the next
// tick.
func (t *tidying) confirmExpiry(space keyspace.Space, err error) {
	if t.expiry.confirm(space, err == nil) {
		t.at = t.Now
	}
}

// expireConfirmed removes the keys of which no majority knows a later change either.
func (t *tidying) expireConfirmed(s *space) {
	if s.IsLate() { // a write may have come of which the keys have not been told
		t.expiry.forgetConfirmed(s.ID)
		return
	}
	for _, key := range t.expiry.confirmed(s.ID) {
		if !t.move.movesKey(key) && s.took(s.Items.Update(key, 0, removeAll, &s.Changes)) {
			t.Counters.Expired++
		}
	}
}
