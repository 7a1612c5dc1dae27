package settlement

import (
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/exchange"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/wire"
)

// Settlement is what one space knows of the views that may not be settled, and how far it has come
// in settling the installed one. A view is settled when a majority of its voters contains all that
// was acknowledged before it. Every older view is then history. A replica that finds a view settled
// tells the others: it stays true.
//
//	installed ──reports of every unsettled view's majority──► goal known ──a majority of the newest contains it──► settled
//
// Invariants: there is no goal once the installed view is settled; reports are of epochs above the
// newest unsettled view's (R15).
type Settlement struct {
	r       *replica.Replica
	acks    *exchange.Pusher
	gaps    *exchange.Gaps
	restart func() // asks anew what quorums are asked: they have changed

	chain   quorum.Chain
	pasts   []quorum.Set[crdt.Origin] // pastSets, while the chain and the view stay
	reports quorum.Reports
	sets    quorum.Joint[*replica.Peer] // whose quorums count
	attempt attempt
	at      time.Time // when to ask again
}

// attempt is what is known of one installed view until it is settled.
type attempt struct {
	goal  *crdt.Clock          // all that was acknowledged before the installed view, or more; nil: not known yet
	lost  bool                 // a majority of some unsettled view is gone
	told  bool                 // the others know that this replica contains the goal
	heard map[crdt.Origin]bool // members that have said, under this view, which views they know
	tries int
}

func (a *attempt) hear(id crdt.Origin) {
	if a.heard == nil {
		a.heard = map[crdt.Origin]bool{}
	}
	a.heard[id] = true
}

// New makes the settlement of a replica that has no view. restart asks anew what quorums are asked.
func New(r *replica.Replica, acks *exchange.Pusher, gaps *exchange.Gaps, restart func()) Settlement {
	return Settlement{r: r, acks: acks, gaps: gaps, restart: restart}
}

// Quorums returns whose quorums count. It follows the views.
func (t *Settlement) Quorums() *quorum.Joint[*replica.Peer] { return &t.sets }

// Unsettled returns the views that may not be settled. It follows the views.
func (t *Settlement) Unsettled() *quorum.Chain { return &t.chain }

// OnTime asks again, when it is time to.
func (t *Settlement) OnTime() {
	if t.r.Due(&t.at) {
		t.retry()
	}
}

// Deadline is when to ask again; zero: never.
func (t *Settlement) Deadline() time.Time { return t.at }

// Leave forgets everything, when this replica is no member any more.
func (t *Settlement) Leave() {
	t.chain, t.reports, t.attempt, t.at = quorum.Chain{}, quorum.Reports{}, attempt{}, time.Time{}
	t.pasts, t.sets = nil, quorum.Joint[*replica.Peer]{}
}

// Check returns a broken invariant.
func (t *Settlement) Check() error {
	if t.attempt.goal != nil && !t.chain.Unsettled() {
		return fmt.Errorf("settled %d and still a goal", t.chain.Settled())
	}
	same := func(a, b quorum.Set[crdt.Origin]) bool {
		return a.Epoch == b.Epoch && a.Size == b.Size && a.Self == b.Self && slices.Equal(a.Peers, b.Peers)
	}
	if sets := t.pastSets(); !slices.EqualFunc(t.pasts, sets, same) {
		return fmt.Errorf("the sets of the unsettled views are %v, kept are %v", sets, t.pasts)
	}
	return t.chain.Check()
}

// pastSets makes the sets of the unsettled views, the newest first.
func (t *Settlement) pastSets() (out []quorum.Set[crdt.Origin]) {
	pasts := t.chain.Pasts()
	if len(pasts) == 0 {
		return nil
	}
	self, others := quorum.Member{ID: t.r.Cfg.Self, Disk: t.r.Cfg.Disk}, t.r.Members()
	for _, past := range pasts {
		out = append(out, quorum.SetOf(past, self, others))
	}
	return out
}

// refreshSets recomputes whose quorums count, after the view or the chain of unsettled ones has
// changed.
func (t *Settlement) refreshSets() {
	newest := quorum.Set[*replica.Peer]{
		Epoch: t.r.View.Epoch, Size: len(t.r.View.Voters), Self: t.r.Voter, Newest: true,
		Peers: make([]*replica.Peer, 0, len(t.r.Peers)),
	}
	for _, p := range t.r.Peers {
		if p.Voter {
			newest.Peers = append(newest.Peers, p)
		}
	}
	sets := []quorum.Set[*replica.Peer]{newest}
	t.pasts = t.pastSets()
	for _, past := range t.pasts {
		sets = append(sets, quorum.Resolve(past, t.r.Peer))
	}
	t.sets.Replace(t.chain.Complete(), sets)
	t.r.NoteAcks()
}

// Follow follows the machine's view. prev is the one before, with Epoch 0 when there was none.
func (t *Settlement) Follow(prev, v replica.View) {
	c := &t.chain
	c.Install(v.Epoch, v.VoterIDs())
	if prev.Epoch != 0 {
		c.Add(quorum.PastView{Epoch: prev.Epoch, Voters: prev.VoterIDs()})
	}
	founds := prev.Epoch == 0 && v.Founded && len(v.Voters) > 0
	restores := t.r.ID == keyspace.Durable && len(v.LastDisks) > 0
	if founds && restores {
		c.Found(v.LastDisks)
	}
	t.refreshSets()
	// The role or the cluster is new, or all members that knew something are gone: there is nothing to wait for.
	if len(v.Voters) == 0 || founds && !restores {
		t.becomeSettled(v.Epoch)
	}
	t.attempt = attempt{}
	t.reports.Forget(c.Since())
	t.reports.Set(t.r.Cfg.Self, v.Epoch, t.r.Committed().Clone())
	for _, p := range t.gatherers() {
		t.report(p, wire.Report{Ask: !c.Complete()}, false, false)
	}
	switch {
	case c.Unsettled():
		t.at = t.r.Now.Add(t.r.Cfg.RetryInterval)
	// another has said so before this replica had the view
	case len(v.Voters) > 0 && (!v.Founded || restores):
		t.at = time.Time{}
		t.r.Eff.Settled = append(t.r.Eff.Settled, effect.Settlement{Space: t.r.ID, Epoch: v.Epoch})
	}
}

// gatherTries is how often a member asks the settlers alone before it asks all, and settles by itself.
const gatherTries = 3

// gatherers are the members that this one tells and asks: the settlers, which then tell that the view
// is settled. So a view costs some messages for each member, and not one for each two of them. All
// are asked when the settlers take too long: soon, while a view is missing here, because any member
// may be the one that knows it.
func (t *Settlement) gatherers() []*replica.Peer {
	if t.attempt.tries >= gatherTries || t.attempt.tries > 0 && !t.chain.Complete() {
		return t.r.Peers
	}
	var out []*replica.Peer
	for _, id := range t.r.Settlers {
		if p := t.r.Peer(id); p != nil {
			out = append(out, p)
		}
	}
	return out
}

// report tells what this replica has acknowledged, and with msg what it asks. It sends the clock
// itself only to a peer that has another one, and that asks for it: whole. known says that the peer
// asks for the views, too.
func (t *Settlement) report(p *replica.Peer, msg wire.Report, whole, known bool) {
	msg.Epoch, msg.Space, msg.Disk = t.r.View.Epoch, t.r.ID, t.r.Cfg.Disk
	msg.Serves, msg.Hash, msg.Settled = t.r.Answers(), t.r.CommittedHash(), t.chain.Settled()
	if whole {
		msg.Acked = t.r.Committed().Clone()
	}
	if t.chain.Unsettled() || known {
		msg.Known = slices.Clone(t.chain.Known())
	}
	t.r.Send(p, effect.Prompt, &msg)
}

// OnReport takes what a member of an older view had acknowledged when it installed this one.
func (t *Settlement) OnReport(p *replica.Peer, msg *wire.Report) {
	t.Claim(msg.Settled)
	before := len(t.chain.Known())
	for _, k := range msg.Known {
		t.chain.Add(k)
	}
	if len(t.chain.Known()) != before {
		t.learned()
	}
	if msg.Epoch == t.r.View.Epoch {
		t.attempt.hear(p.ID)
	}
	clock := msg.Acked
	if clock == nil && msg.Hash == t.r.ContentHash() {
		clock = t.r.ContentCopy()
	}
	if clock != nil {
		t.reports.Add(p.ID, msg.Epoch, clock)
		if msg.Serves {
			t.r.LearnAcked(p, clock)
		}
	}
	if wonder := clock == nil && t.chain.Unsettled(); msg.Ask || wonder {
		// The clock behind a hash that is unknown here is asked for.
		t.report(p, wire.Report{Ask: wonder, Whole: wonder}, msg.Ask && msg.Whole, msg.Ask)
	}
	t.r.NoteAcks()
}

// learned takes notice of views that were not known before.
func (t *Settlement) learned() {
	t.attempt.goal = nil
	t.refreshSets()
	t.acks.OweAcked()
}

// maybeFill fills in the views that no member of the role knows. The nodes that decide on views may
// all be of other roles, so that each node of this one misses a view. All members have then said,
// under the installed view, that they have not installed that one, and never will: none of them has
// acknowledged anything in it.
func (t *Settlement) maybeFill() {
	unheard := func(p *replica.Peer) bool { return !t.attempt.heard[p.ID] }
	if t.chain.Complete() || slices.ContainsFunc(t.r.Peers, unheard) {
		return
	}
	if t.chain.Fill(); t.chain.Complete() {
		t.learned()
	}
}

// Claim takes another's word for an epoch being settled.
func (t *Settlement) Claim(epoch uint64) {
	if epoch > t.chain.Settled() && t.r.Member {
		t.becomeSettled(epoch)
	}
}

// becomeSettled makes history of all views before an epoch.
func (t *Settlement) becomeSettled(epoch uint64) {
	lost := t.attempt.lost || t.chain.Doubtful() || t.majorityLost(epoch)
	ended := t.chain.Settle(epoch)
	t.refreshSets()
	t.restart()
	if ended {
		t.attempt.goal, t.at = nil, time.Time{}
		t.r.Eff.Settled = append(t.r.Eff.Settled, effect.Settlement{Space: t.r.ID, Epoch: t.r.View.Epoch, Lost: lost})
	}
}

// majorityLost reports whether of some view that was unsettled so far less is left than every
// majority of it must meet.
func (t *Settlement) majorityLost(epoch uint64) bool {
	return slices.ContainsFunc(t.pasts, func(v quorum.Set[crdt.Origin]) bool {
		return v.Epoch < epoch && v.MajorityGone()
	})
}

// Settle tries to find that the installed view is settled: what a majority of each older one has
// reported, or all that are left of it (R13), is contained in a majority of the newest.
func (t *Settlement) Settle() {
	if !t.chain.Unsettled() || !t.r.Member {
		return
	}
	if t.maybeFill(); !t.chain.Complete() {
		return
	}
	if len(t.pasts) == 0 {
		t.becomeSettled(t.r.View.Epoch) // the voters are those of a settled view
		return
	}
	a := &t.attempt
	if a.goal == nil {
		goal, ok := t.reports.Find(t.pasts, t.chain.Since(), t.r.Cfg.Self)
		if !ok {
			return
		}
		a.goal, a.lost = goal.Clock, goal.Lost
	}
	contains := func(p *replica.Peer) bool {
		if p == nil {
			return t.r.Acked().Includes(a.goal)
		}
		return t.r.Counts(p) && p.Link(t.r.ID).Acked.Includes(a.goal)
	}
	if v := t.sets.Newest(); v.Tally(contains) >= v.Need(quorum.Majority) {
		t.becomeSettled(t.r.View.Epoch)
		t.tellSettled()
		return
	}
	if contains(nil) {
		if !a.told {
			a.told = true
			for _, p := range t.gatherers() {
				t.report(p, wire.Report{}, false, false)
			}
		}
		return
	}
	t.fetchGoal()
}

// tellSettled tells that the installed view is settled, if that is up to this replica. The other
// settlers find it as this one does.
func (t *Settlement) tellSettled() {
	if !t.r.Settles(t.r.Cfg.Self) {
		return
	}
	for _, p := range t.r.Peers {
		if !t.r.Settles(p.ID) {
			t.report(p, wire.Report{}, false, false)
		}
	}
}

// fetchGoal asks the peers that reported it for what is missing here.
func (t *Settlement) fetchGoal() {
	lacks := t.gaps.Unasked(t.attempt.goal)
	if lacks.Empty() {
		return // mostly: all of it is on its way
	}
	for _, p := range t.r.Peers {
		if clock := t.reports.Of(p.ID); clock != nil {
			t.gaps.Fetch(p, lacks.And(clock))
		}
	}
}

// retry asks those whose reports or whose acks are missing.
func (t *Settlement) retry() {
	a := &t.attempt
	if !t.chain.Unsettled() {
		return
	}
	t.gaps.AskAgain()
	backoff := t.r.Backoff(a.tries)
	a.tries++
	ask := t.gatherers()
	if t.r.Settles(t.r.Cfg.Self) {
		ask = t.r.Peers
	}
	for _, p := range ask {
		if t.reports.Of(p.ID) == nil || !t.chain.Complete() || a.goal == nil || !t.r.Counts(p) ||
			!p.Link(t.r.ID).Acked.Includes(a.goal) {
			t.report(p, wire.Report{Ask: true}, true, false)
		}
	}
	t.at = t.r.Now.Add(backoff)
}
