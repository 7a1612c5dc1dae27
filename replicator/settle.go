package replicator

import (
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// settlement is what one space knows of the views that may not be settled, and how far it has come
// in settling the installed one. A view is settled when a majority of its voters contains all that
// was acknowledged before it. Every older view is then history. A replica that finds a view settled
// tells the others: it stays true.
//
//	installed ──reports of every unsettled view's majority──► goal known ──a majority of the newest contains it──► settled
//
// Invariants: there is no goal once the installed view is settled; reports are of epochs above the
// newest unsettled view's (V7).
type settlement struct {
	chain   quorum.Chain
	reports quorum.Reports
	attempt attempt
	at      time.Time // when to ask again
}

// attempt is what is known of one installed view until it is settled.
type attempt struct {
	goal  *crdt.Clock // all that was acknowledged before the installed view, or more; nil: not known yet
	lost  bool        // a majority of some unsettled view is gone
	told  bool        // the others know that this replica contains the goal
	tries int
}

func (t *settlement) check() error {
	if t.attempt.goal != nil && !t.chain.Unsettled() {
		return fmt.Errorf("settled %d and still a goal", t.chain.Settled())
	}
	return t.chain.Check()
}

// votersOf returns the ids of the voters of a view, sorted.
func votersOf(v View) []crdt.Origin {
	ids := make([]crdt.Origin, len(v.Voters))
	for i, p := range v.Voters {
		ids[i] = p.ID
	}
	return ids
}

// members returns the other members of the installed view as package quorum counts them.
func (m *Machine) members() []quorum.Member {
	out := make([]quorum.Member, len(m.peers))
	for i, p := range m.peers {
		out[i] = quorum.Member{ID: p.id, Disk: p.disk, Voter: p.voter}
	}
	return out
}

// pastSets returns the sets of the unsettled views, the newest first.
func (s *space) pastSets() (out []quorum.Set[crdt.Origin]) {
	self, others := quorum.Member{ID: s.m.cfg.Self, Disk: s.m.cfg.Disk}, s.m.members()
	for _, past := range s.settlement.chain.Pasts() {
		out = append(out, quorum.SetOf(past, self, others))
	}
	return out
}

// refreshSets recomputes whose quorums count, after the view or the chain of unsettled ones has
// changed.
func (s *space) refreshSets() {
	m := s.m
	newest := quorum.Set[*peer]{Epoch: m.view.Epoch, Size: len(m.view.Voters), Self: m.voter, Newest: true}
	for _, p := range m.peers {
		if p.voter {
			newest.Peers = append(newest.Peers, p)
		}
	}
	sets := []quorum.Set[*peer]{newest}
	for _, past := range s.pastSets() {
		sets = append(sets, quorum.Resolve(past, m.peer))
	}
	s.sets.Replace(s.settlement.chain.Complete(), sets)
	s.acksMoved = true
}

// installView follows the machine's view. prev is the one before, with Epoch 0 when there was none.
func (s *space) installView(prev, v View) {
	t := &s.settlement
	c := &t.chain
	c.Install(v.Epoch, votersOf(v))
	if prev.Epoch != 0 {
		c.Add(quorum.PastView{Epoch: prev.Epoch, Voters: votersOf(prev)})
	}
	switch {
	case len(v.Voters) == 0:
		// The role is new, or all members that knew something are gone: there is nothing to wait
		// for.
		s.becomeSettled(v.Epoch)
	case prev.Epoch != 0:
	case v.Founded && s.id == Durable && len(v.LastDisks) > 0:
		c.Found(v.LastDisks)
	case v.Founded:
		s.becomeSettled(v.Epoch)
	}
	t.attempt = attempt{}
	s.refreshSets()
	t.reports.Forget(c.Since())
	t.reports.Set(s.m.cfg.Self, v.Epoch, s.committed().Clone())
	for _, p := range s.m.peers {
		s.sendReport(p, !c.Complete(), false)
	}
	switch {
	case c.Unsettled():
		t.at = s.m.now.Add(s.m.cfg.RetryInterval)
	case len(v.Voters) > 0 && (!v.Founded || len(v.LastDisks) > 0 && s.id == Durable): // another has said so before this replica had the view
		t.at = zeroTime
		s.m.eff.Settled = append(s.m.eff.Settled, Settlement{Space: s.id, Epoch: v.Epoch})
	}
}

// sendReport tells what this replica has acknowledged. It sends the clock itself only to a peer
// that has another one, and that asks for it with whole.
func (s *space) sendReport(p *peer, ask, whole bool) {
	c := &s.settlement.chain
	msg := &Report{
		Epoch: s.m.view.Epoch, Space: s.id, Ask: ask, Serves: s.answers(), Disk: s.m.cfg.Disk, Hash: s.committed().Hash(), Settled: c.Settled(),
	}
	if whole {
		msg.Acked = s.committed().Clone()
	}
	if c.Unsettled() {
		msg.Known = slices.Clone(c.Known())
	}
	s.m.send(p, Prompt, msg)
}

// onReport takes what a member of an older view had acknowledged when it installed this one.
func (s *space) onReport(p *peer, msg *Report) {
	t := &s.settlement
	s.claim(msg.Settled)
	before := len(t.chain.Known())
	for _, k := range msg.Known {
		t.chain.Add(k)
	}
	if len(t.chain.Known()) != before {
		t.attempt.goal = nil
		s.refreshSets()
		s.oweAcked()
	}
	clock := msg.Acked
	if clock == nil && msg.Hash == s.contentHash() {
		clock = s.content().Clone()
	}
	if clock != nil {
		t.reports.Add(p.id, msg.Epoch, clock)
		if msg.Serves {
			s.learnAcked(p, clock)
		}
	}
	if wonder := clock == nil && t.chain.Unsettled(); msg.Ask || wonder {
		s.answerReport(p, msg.Ask, msg.Whole, wonder)
	}
	s.acksMoved = true
}

// answerReport tells the own report to the peer that asked. It asks for the clock behind a hash
// that is unknown here.
func (s *space) answerReport(p *peer, asked, whole, wonder bool) {
	c := &s.settlement.chain
	msg := &Report{
		Epoch: s.m.view.Epoch, Space: s.id, Ask: wonder, Whole: wonder, Serves: s.answers(), Disk: s.m.cfg.Disk,
		Hash: s.committed().Hash(), Settled: c.Settled(),
	}
	if asked && whole {
		msg.Acked = s.committed().Clone()
	}
	if c.Unsettled() || asked {
		msg.Known = slices.Clone(c.Known())
	}
	s.m.send(p, Prompt, msg)
}

// claim takes another's word for an epoch being settled.
func (s *space) claim(epoch uint64) {
	if epoch > s.settlement.chain.Settled() && s.m.member {
		s.becomeSettled(epoch)
	}
}

// becomeSettled makes history of all views before an epoch.
func (s *space) becomeSettled(epoch uint64) {
	t := &s.settlement
	lost := t.attempt.lost || s.majorityLost(epoch)
	ended := t.chain.Settle(epoch)
	s.refreshSets()
	s.restartRounds()
	if ended {
		t.attempt.goal, t.at = nil, zeroTime
		s.m.eff.Settled = append(s.m.eff.Settled, Settlement{Space: s.id, Epoch: s.m.view.Epoch, Lost: lost})
	}
}

// majorityLost reports whether of some view that was unsettled so far less is left than every
// majority of it must meet.
func (s *space) majorityLost(epoch uint64) bool {
	return slices.ContainsFunc(s.pastSets(), func(v quorum.Set[crdt.Origin]) bool { return v.Epoch < epoch && v.MajorityGone() })
}

// settle tries to find that the installed view is settled: what a majority of each older one has
// reported, or all that are left of it (V4), is contained in a majority of the newest.
func (s *space) settle() {
	t := &s.settlement
	if !t.chain.Unsettled() || !t.chain.Complete() || !s.m.member {
		return
	}
	if len(t.chain.Pasts()) == 0 {
		s.becomeSettled(s.m.view.Epoch) // the voters are those of a settled view
		return
	}
	a := &t.attempt
	if a.goal == nil {
		goal, ok := t.reports.Find(s.pastSets(), t.chain.Since(), s.m.cfg.Self)
		if !ok {
			return
		}
		a.goal, a.lost = goal.Clock, goal.Lost
	}
	contains := func(p *peer) bool {
		if p == nil {
			return s.acked().Includes(a.goal)
		}
		return s.m.counts(p) && p.link(s).acked.Includes(a.goal)
	}
	if v := s.sets.Newest(); v.Tally(contains) >= v.Need(quorum.Majority) {
		s.becomeSettled(s.m.view.Epoch)
		return
	}
	if contains(nil) {
		if !a.told {
			a.told = true
			for _, p := range s.m.peers {
				s.sendReport(p, false, false)
			}
		}
		return
	}
	s.fetchGoal()
}

// fetchGoal asks the peers that reported it for what is missing here.
func (s *space) fetchGoal() {
	t := &s.settlement
	for _, p := range s.m.peers {
		if clock := t.reports.Of(p.id); clock != nil {
			s.fetch(p, t.attempt.goal.Minus(t.attempt.goal.Minus(clock)))
		}
	}
}

// retrySettle asks those whose reports or whose acks are missing.
func (s *space) retrySettle() {
	t := &s.settlement
	a := &t.attempt
	if !t.chain.Unsettled() {
		return
	}
	s.wanted = crdt.Clock{}
	for _, p := range s.m.peers {
		if t.reports.Of(p.id) == nil || !t.chain.Complete() || a.goal == nil || !s.m.counts(p) || !p.link(s).acked.Includes(a.goal) {
			s.sendReport(p, true, true)
		}
	}
	t.at = s.m.now.Add(s.m.backoff(a.tries))
	a.tries++
}
