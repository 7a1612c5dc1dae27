package replicator

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
)

// chain is what one space knows of the views that may not be settled. A view is settled when a
// majority of its voters contains all that was acknowledged before it. Every older view is then
// history. A replica that finds a view settled tells the others: it stays true.
//
//	installed ──reports of every unsettled view's majority──► goal known ──a majority of the newest contains it──► settled
//
// Invariants: known is in order of epochs, all below the installed one's and none below settled;
// reports are of epochs above the newest unsettled view's (V7).
type chain struct {
	epoch   uint64     // of the installed view
	settled uint64     // the newest epoch known to be settled, 0: none
	known   []PastView // the views before the installed one, as far as known; after a cold start the sets of disks stand for them
	reports map[crdt.Origin]report
	goal    *crdt.Clock // all that was acknowledged before the installed view, or more; nil: not known yet
	told    bool        // the others know that this replica contains the goal
	lost    bool        // a majority of some unsettled view is gone
	tries   int
	at      time.Time // when to ask again
}

// report is what one member had acknowledged when it had installed an epoch.
type report struct {
	epoch uint64
	disk  uint64
	clock *crdt.Clock
}

// complete reports whether every view since the settled one is known. A quorum that left one out
// would promise nothing.
func (c *chain) complete() bool {
	if c.settled == 0 {
		return false
	}
	if c.settled >= c.epoch {
		return true
	}
	from := c.epoch
	for i := len(c.known) - 1; i >= 0 && c.known[i].Epoch == from-1; i-- {
		from--
	}
	return c.settled >= from
}

// newest returns the newest epoch that is known to be settled, 0: none. As long as disks stand for
// the views before a cold start, or while that is not known, the numbers are those of no real
// views.
func (c *chain) newest() uint64 {
	if !c.complete() || len(c.known) > 0 && len(c.known[0].Disks) > 0 {
		return 0
	}
	return c.settled
}

// wants reports whether a disk is one of the disks that have to be heard.
func (c *chain) wants(disk uint64) bool {
	return slices.ContainsFunc(c.known, func(p PastView) bool { return slices.Contains(p.Disks, disk) })
}

// pasts returns the unsettled views before the installed one, each with other voters than its
// successor.
func (c *chain) pasts(v View) []PastView {
	var out []PastView
	next := votersOf(v)
	for _, p := range slices.Backward(c.known) {
		if p.Epoch < c.settled {
			break
		}
		if len(p.Disks) > 0 || !slices.Equal(p.Voters, next) {
			out = append(out, p)
		}
		next = p.Voters
	}
	return out
}

func votersOf(v View) []crdt.Origin {
	ids := make([]crdt.Origin, len(v.Voters))
	for i, p := range v.Voters {
		ids[i] = p.ID
	}
	return ids
}

// add enters a view into the known ones.
func (c *chain) add(p PastView) {
	i, ok := slices.BinarySearchFunc(c.known, p.Epoch, func(a PastView, e uint64) int {
		switch {
		case a.Epoch < e:
			return -1
		case a.Epoch > e:
			return 1
		}
		return 0
	})
	if !ok && p.Epoch < c.epoch && p.Epoch >= c.settled {
		c.known = slices.Insert(c.known, i, p)
	}
}

// installView follows the machine's view. prev is the one before, with Epoch 0 when there was none.
func (s *space) installView(prev, v View) {
	c := &s.chain
	c.epoch = v.Epoch
	if prev.Epoch != 0 {
		c.add(PastView{Epoch: prev.Epoch, Voters: votersOf(prev)})
	}
	switch {
	case len(v.Voters) == 0:
		// The role is new, or all members that knew something are gone: there is nothing to wait
		// for.
		s.becomeSettled(v.Epoch)
	case prev.Epoch != 0:
	case v.Founded && s.id == Durable && len(v.LastDisks) > 0:
		c.settled = v.Epoch - uint64(len(v.LastDisks))
		for i, disks := range v.LastDisks {
			c.add(PastView{Epoch: c.settled + uint64(i), Disks: disks})
		}
	case v.Founded:
		s.becomeSettled(v.Epoch)
	}
	c.goal, c.told, c.lost, c.tries = nil, false, false, 0
	s.refreshSets()
	since := c.since(v)
	for id, r := range c.reports { // order: deletes only
		if r.epoch < since {
			delete(c.reports, id)
		}
	}
	if c.reports == nil {
		c.reports = map[crdt.Origin]report{}
	}
	c.reports[s.m.cfg.Self] = report{epoch: v.Epoch, disk: s.m.cfg.Disk, clock: s.committed().Clone()}
	for _, p := range s.m.peers {
		s.sendReport(p, !c.complete(), false)
	}
	switch {
	case s.unsettled():
		c.at = s.m.now.Add(s.m.cfg.RetryInterval)
	case len(v.Voters) > 0 && (!v.Founded || len(v.LastDisks) > 0 && s.id == Durable): // another has said so before this replica had the view
		c.at = zeroTime
		s.m.eff.Settled = append(s.m.eff.Settled, Settlement{Space: s.id, Epoch: v.Epoch})
	}
}

// since is the first epoch whose reports say all about the unsettled views.
func (c *chain) since(v View) uint64 {
	if ps := c.pasts(v); len(ps) > 0 {
		return ps[0].Epoch + 1
	}
	return v.Epoch
}

// sendReport tells what this replica has acknowledged. It sends the clock itself only to a peer
// that has another one, and that asks for it with whole.
func (s *space) sendReport(p *peer, ask, whole bool) {
	c := &s.chain
	msg := &Report{
		Epoch: s.m.view.Epoch, Space: s.id, Ask: ask, Serves: s.answers(), Disk: s.m.cfg.Disk, Hash: s.committed().Hash(), Settled: c.settled,
	}
	if whole {
		msg.Acked = s.committed().Clone()
	}
	if c.settled < c.epoch {
		msg.Known = slices.Clone(c.known)
	}
	s.m.send(p, Prompt, msg)
}

// onReport takes what a member of an older view had acknowledged when it installed this one.
func (s *space) onReport(p *peer, msg *Report) {
	c := &s.chain
	s.claim(msg.Settled)
	before := len(c.known)
	for _, k := range msg.Known {
		c.add(k)
	}
	if len(c.known) != before {
		c.goal = nil
		s.refreshSets()
		s.oweAcked()
	}
	clock := msg.Acked
	if clock == nil && msg.Hash == s.contentHash() {
		clock = s.content().Clone()
	}
	if clock != nil {
		if r := c.reports[p.id]; r.clock == nil || r.epoch < msg.Epoch {
			c.reports[p.id] = report{epoch: msg.Epoch, disk: msg.Disk, clock: clock}
		}
		if msg.Serves {
			s.learnAcked(p, clock)
		}
	}
	if msg.Ask || clock == nil && s.unsettled() {
		s.answerReport(p, msg.Ask, msg.Whole, clock == nil && s.unsettled())
	}
	s.acksMoved = true
}

// answerReport tells the own report to the peer that asked. It asks for the clock behind a hash
// that is unknown here.
func (s *space) answerReport(p *peer, asked, whole, wonder bool) {
	msg := &Report{
		Epoch: s.m.view.Epoch, Space: s.id, Ask: wonder, Whole: wonder, Serves: s.answers(), Disk: s.m.cfg.Disk,
		Hash: s.committed().Hash(), Settled: s.chain.settled,
	}
	if asked && whole {
		msg.Acked = s.committed().Clone()
	}
	if s.unsettled() || asked {
		msg.Known = slices.Clone(s.chain.known)
	}
	s.m.send(p, Prompt, msg)
}

func (s *space) unsettled() bool { return s.chain.settled < s.chain.epoch }

// claim takes another's word for an epoch being settled.
func (s *space) claim(epoch uint64) {
	if epoch > s.chain.settled && s.m.member {
		s.becomeSettled(epoch)
	}
}

// becomeSettled makes history of all views before an epoch.
func (s *space) becomeSettled(epoch uint64) {
	c := &s.chain
	was := c.settled
	lost := c.lost || s.majorityLost(epoch)
	c.settled = epoch
	c.known = slices.DeleteFunc(c.known, func(p PastView) bool { return p.Epoch < epoch })
	s.refreshSets()
	s.restartRounds()
	if was < c.epoch && epoch >= c.epoch {
		c.goal, c.at = nil, zeroTime
		s.m.eff.Settled = append(s.m.eff.Settled, Settlement{Space: s.id, Epoch: c.epoch, Lost: lost})
	}
}

// majorityLost reports whether of some view that was unsettled so far less is left than every
// majority of it must meet.
func (s *space) majorityLost(epoch uint64) bool {
	for _, past := range s.chain.pasts(s.m.view) {
		if v := s.m.setOf(past); past.Epoch < epoch && v.members() < v.size-v.size/2 {
			return true
		}
	}
	return false
}

// settle tries to find that the installed view is settled: what a majority of each older one has
// reported, or all that are left of it (V4), is contained in a majority of the newest.
func (s *space) settle() {
	c := &s.chain
	if !s.unsettled() || !c.complete() || !s.m.member {
		return
	}
	if len(c.pasts(s.m.view)) == 0 {
		s.becomeSettled(c.epoch) // the voters are those of a settled view
		return
	}
	if c.goal == nil && !s.findGoal() {
		return
	}
	contains := func(p *peer) bool {
		if p == nil {
			return s.acked().Includes(c.goal)
		}
		return s.m.counts(p) && p.link(s).acked.Includes(c.goal)
	}
	if v := &s.sets[0]; s.tally(v, contains) >= v.need(Majority) {
		s.becomeSettled(c.epoch)
		return
	}
	if contains(nil) {
		if !c.told {
			c.told = true
			for _, p := range s.m.peers {
				s.sendReport(p, false, false)
			}
		}
		return
	}
	s.fetchGoal()
}

// findGoal joins the reports, once there are enough of each unsettled view.
func (s *space) findGoal() bool {
	c := &s.chain
	since := c.since(s.m.view)
	goal, lost := &crdt.Clock{}, false
	for _, past := range c.pasts(s.m.view) {
		v, n := s.m.setOf(past), 0
		take := func(id crdt.Origin) {
			if r := c.reports[id]; r.clock != nil && r.epoch >= since {
				n++
				goal.Join(r.clock)
			}
		}
		if v.self {
			take(s.m.cfg.Self)
		}
		for _, p := range v.peers {
			take(p.id)
		}
		if n < min(quorumOf(v.size), v.members()) {
			return false
		}
		lost = lost || v.members() < v.size-v.size/2
	}
	c.goal, c.lost = goal, lost
	return true
}

// fetchGoal asks the peers that reported it for what is missing here.
func (s *space) fetchGoal() {
	for _, p := range s.m.peers {
		if r := s.chain.reports[p.id]; r.clock != nil {
			s.fetch(p, s.chain.goal.Minus(s.chain.goal.Minus(r.clock)))
		}
	}
}

// retrySettle asks those whose reports or whose acks are missing.
func (s *space) retrySettle() {
	c := &s.chain
	if !s.unsettled() {
		return
	}
	s.wanted = crdt.Clock{}
	for _, p := range s.m.peers {
		r := c.reports[p.id]
		if r.clock == nil || !c.complete() || c.goal == nil || !s.m.counts(p) || !p.link(s).acked.Includes(c.goal) {
			s.sendReport(p, true, true)
		}
	}
	c.at = s.m.now.Add(s.m.backoff(c.tries))
	c.tries++
}
