package replicator

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
)

// pull is a repair from one donor (R4). The clock, the names of live items and, when there is
// trouble, the items come from one pinned moment of the donor. They are compared with one pinned
// moment of this replica. Everything is staged here, and becomes part of the store in one step when
// it is complete and adds up. That step takes into account what this replica has done meanwhile.
//
//	asked ──head──► gathering ──difference found, items here──► weighing ──adds up──► flipped
//	  │                 │  ▲                                       │
//	  │                 │  └──── does not add up: another way ─────┘
//	  ├── refused, left, silent: another donor, what has come is kept
//	  └── no other donor: given up, gossip begins another
//
// The donor names the live ones among the dots that only its clock has, and their items are fetched
// (pull_fetch.go). Of the dots that both clocks have, some are alive on one side only. Sketches
// (pull_sketch.go) or ranges (pull_ranges.go) find them. Dots that only this replica's clock has
// stay as they are.
type pull struct {
	session uint64
	from    *peer
	own     *crdt.Pinned
	asked   *crdt.Clock // of own; empty: nothing that is here is trusted, all items are fetched
	union   bool        // equal clocks and different digests: add, drop nothing (R5)
	since   time.Time   // when the repair began, with this donor or another

	clock  *crdt.Clock // of the donor's moment; nil: no head has come
	digest crdt.Digest
	items  uint64 // that the donor has

	diff  difference
	fetch fetch
	sums  digestCheck

	named  uint64 // dots that the donor has named
	asks   []*ask
	lastID uint32
	at     time.Time // when to ask again, or at once when busy
	tries  int       // questions in a row that brought nothing
	silent int       // looks in a row at which no flow of the donor had moved either
	moved  uint64    // of the donor when it was looked at last
	coming uint64    // the flow of the donor that came then
	busy   bool      // there is something to do that waits for no answer
	lost   []*peer   // donors that did not help
}

// Bounds of a repair, per step and side.
const (
	pullTries = 5       // how often a silent donor is asked to go on
	busyTries = 64      // how often one is asked that moves other flows, and brings nothing
	workItems = 1 << 14 // items that one step walks over
)

// beginPull begins a repair.
func (s *space) beginPull(p *peer) {
	s.startPull(p, s.content())
	s.tellRepair(s.pull, RepairBegan, 0)
}

func (s *space) startPull(p *peer, asked *crdt.Clock) {
	s.pull = s.newPull(p)
	s.pull.asked = asked.Clone()
	s.askPull()
}

func (s *space) newPull(p *peer) *pull {
	flow, _ := p.coming.Coming()
	return &pull{session: s.m.rng.Uint64() | 1, from: p, own: s.store.Pin(), since: s.m.now, moved: p.moved(), coming: flow}
}

// askPull asks the donor to begin.
func (s *space) askPull() {
	p := s.pull
	s.m.send(p.from, Prompt, &Pull{Epoch: s.m.view.Epoch, Space: s.id, Session: p.session, Content: p.asked})
	p.at = s.m.now.Add(s.m.backoff(p.tries))
}

// onHead takes what the donor has pinned.
func (s *space) onHead(from *peer, msg *Head) {
	p := s.pull
	if !p.is(from, msg.Session) || p.clock != nil {
		return
	}
	p.clock, p.digest, p.items = msg.Clock, msg.Digest, msg.Items
	if p.union && !p.asked.Empty() && !p.clock.Equal(p.asked) {
		// One side has moved on: lost items cannot be told from removed ones. The next alarm
		// tries again.
		s.breakPull()
		return
	}
	p.fetch.begin(p)
	s.beginDiff()
	s.progress()
}

// is reports whether a message belongs to this repair.
func (p *pull) is(from *peer, session uint64) bool {
	return p != nil && p.from == from && p.session == session
}

// progress notes that the donor is there, and goes on.
func (s *space) progress() {
	s.pull.tries, s.pull.silent = 0, 0
	s.drivePull()
}

// drivePull does what can be done now, and asks for what is missing. A step does a bounded amount
// of work.
func (s *space) drivePull() {
	p := s.pull
	if p == nil || p.clock == nil {
		return
	}
	p.busy = false
	p.at = s.m.now.Add(s.m.backoff(p.tries))
	s.driveDiff()
	if s.pull != p {
		return
	}
	s.driveFetch()
	if p.diff.found && p.fetch.complete(p) {
		s.checkDigest()
	}
	if p.busy && s.pull == p {
		p.at = s.m.now
	}
}

// onPullTime goes on with what needs no answer, or asks again.
func (s *space) onPullTime() {
	p := s.pull
	if p.busy {
		s.drivePull()
		return
	}
	if p.underway() {
		p.at = s.m.now.Add(s.m.backoff(p.tries))
		return
	}
	if p.silent > pullTries || p.tries > busyTries {
		s.replaceDonor()
		return
	}
	s.dropHelpers()
	if !p.fetch.first {
		s.askPull()
		return
	}
	s.askCellsAgain()
	for _, a := range p.asks {
		s.sendAsk(a)
	}
	s.drivePull()
}

// underway reports whether a flow gets on that carries the question, or may carry the answer.
// Otherwise it counts a vain try. A part does not tell what it is a part of. So a flow that comes
// counts only as long as it is the one of the last look. Each flow ends, but one can follow another
// without a pause, and none of them is the answer when the question was lost. A message that is on
// its way is not sent twice, so that asking too early costs little.
func (p *pull) underway() bool {
	moved := p.from.moved()
	flow, open := p.from.coming.Coming()
	moves, same := moved != p.moved, flow == p.coming && open
	p.moved, p.coming = moved, flow
	if p.silent++; moves {
		p.silent = 0
		if same || p.from.flows.Carries(p.session) {
			return true
		}
	}
	p.tries++
	return false
}

// onRefuse goes elsewhere.
func (s *space) onRefuse(from *peer, msg *Refuse) {
	p := s.pull
	switch {
	case p == nil || p.session != msg.Session:
	case p.from == from:
		s.replaceDonor()
	default:
		s.dropHelper(from)
		s.drivePull()
	}
}

// malformed gives up a donor whose messages make no sense.
func (s *space) malformedPull() {
	s.m.malformed(s.pull.from)
	s.replaceDonor()
}

// replaceDonor begins anew with another donor. What has been fetched is kept: an item is the same
// wherever its dot is alive.
func (s *space) replaceDonor() {
	old := s.pull
	lost := append(old.lost, old.from)
	next := s.donor(lost)
	if old.union || next == nil {
		s.breakPull()
		return
	}
	s.m.stats.DonorsReplaced++
	s.endPull()
	p := s.newPull(next)
	p.lost, p.asked, p.since = lost, &crdt.Clock{}, old.since
	if !old.asked.Empty() {
		p.asked = s.content().Clone()
	}
	p.fetch.keep(&old.fetch)
	s.pull = p
	s.askPull()
}

func (s *space) breakPull() {
	p := s.pull
	s.endPull()
	s.broken(p)
}

// broken says that a repair has ended without its end.
func (s *space) broken(p *pull) {
	s.m.stats.RepairsBroken++
	s.tellRepair(p, RepairBroken, 0)
}

// endPull forgets the repair, and lets the donor forget it.
func (s *space) endPull() {
	p := s.pull
	s.pull = nil
	if !s.m.left(p.from) {
		s.m.send(p.from, Prompt, &Done{Epoch: s.m.view.Epoch, Space: s.id, Session: p.session})
	}
}

// yieldPull waits with the own repair when a peer and this replica have asked each other at the
// same time: the first leaves less to find for the other.
func (s *space) yieldPull(p *peer) {
	if q := s.pull; q != nil && q.from == p && q.clock == nil && !q.union && p.id < s.m.cfg.Self {
		s.endPull() // when the peer is done, it tells its clock, and the repair begins again
		s.tellRepair(q, RepairYielded, 0)
	}
}

// forgetPull makes sure that no peer that has left is asked.
func (s *space) forgetPull() {
	p := s.pull
	if p == nil {
		return
	}
	p.lost = slices.DeleteFunc(p.lost, s.m.left)
	for _, h := range slices.Clone(p.fetch.helpers) {
		if s.m.left(h) {
			s.dropHelper(h)
		}
	}
	if s.m.left(p.from) {
		s.replaceDonor()
	}
}

// left reports whether a peer is not a member any more.
func (m *Machine) left(p *peer) bool { return m.peer(p.id) != p }

// donor returns a peer that may help and is not in except, nil if there is none.
func (s *space) donor(except []*peer) *peer {
	for _, p := range s.m.favoured(s.m.peers, false) {
		if p.voter && !slices.Contains(except, p) {
			return p
		}
	}
	return nil
}
