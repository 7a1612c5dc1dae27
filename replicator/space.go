package replicator

import (
	"fmt"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/push"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/repair"
)

// space is one of the two halves of a machine, with what the subjects of the protocol keep for it.
type space struct {
	m     *Machine
	id    Space
	rep   *crdt.Replica
	store *crdt.Store
	ch    crdt.Changes // of the call that is being made; absorbed at once

	own     push.Outbox   // own groups that a peer may still need
	waiting push.WaitList // groups that came too early
	writes  []*opQueue    // operations waiting for acks, per level
	goals   []*op         // writes that changed nothing: they wait for a whole clock
	rounds  []*round      // quorum reads
	roundAt time.Time
	roundID uint64
	compares
	holding
	sayHeldAt  time.Time      // updates that wait are not told of before this
	wanted     crdt.Clock     // fetched, not here yet; forgotten when roundAt or settlement.at comes
	puller     *repair.Puller // the repair that is running
	alarmAt    time.Time      // digest alarms before this are not acted upon
	disk       disk
	settlement settlement

	expiring    []string            // keys of which a majority is being asked before they expire
	confirmed   bool                // it has answered
	askedExpiry time.Time           // when it was asked
	learned     bool                // a majority's clocks, as they were when the first view came, are contained
	sets        quorum.Joint[*peer] // whose quorums count

	hash   [16]byte // of the content clock, while hashed
	hashed bool

	// What this step has moved; finish looks at it and clears it.
	moved     bool // the content clock
	ownMoved  bool // own groups, to be pushed
	acksMoved bool // the acks of a peer, or the set of peers that count
	owed      []*peer
}

func newSpace(m *Machine, id Space) *space {
	s := &space{m: m, id: id}
	s.rep = crdt.NewReplica(m.cfg.Self, crdt.StoreOptions{DigestSeed: m.cfg.DigestSeed, LogMax: m.cfg.LogMax, LogBytesMax: m.cfg.LogBytesMax,
		Defects: m.cfg.Defects.Store, SketchCells: max(0, m.cfg.SketchCells), SketchFrom: m.cfg.SketchFrom,
	})
	s.store = s.rep.Store()
	s.puller = newPuller(s)
	s.disk.clock = &crdt.Clock{}
	return s
}

func (s *space) load(l Loaded) error {
	items := l.Items
	if items == nil {
		items = func(func(crdt.Item, error) bool) {}
	}
	if err := s.rep.Load(l.Clock, l.Digest, items); err != nil {
		return err
	}
	s.disk.clock, s.disk.digest = s.content().Clone(), s.store.Digest()
	s.resume(l.Partial)
	return nil
}

// content is the clock that goes with the items: what has been applied. It changes with the store.
func (s *space) content() *crdt.Clock { return s.store.Clock() }

// committed is what a crash leaves to the cluster: in the volatile space all of the content, in the
// durable one what is on disk (R7).
func (s *space) committed() *crdt.Clock {
	if s.id == Volatile || s.m.cfg.Defects.AckBeforeCommit {
		return s.content()
	}
	return s.disk.clock
}

// answers reports whether others may count on what this replica has. Either it has caught up (R4),
// or what its disk brought must be heard after a cold start: perhaps no other disk has it.
func (s *space) answers() bool { return s.m.serves || s.settlement.chain.Wants(s.m.cfg.Disk) }

// acked is what this replica answers for.
func (s *space) acked() *crdt.Clock {
	if !s.answers() {
		return &noClock
	}
	return s.committed()
}

// noClock is empty and must stay so.
var noClock crdt.Clock

// ackedAll reports whether all of the content counts.
func (s *space) ackedAll() bool {
	c := s.acked()
	return c == s.content() || c.Equal(s.content())
}

func (s *space) contentHash() [16]byte {
	if !s.hashed {
		s.hash, s.hashed = s.content().Hash(), true
	}
	return s.hash
}

// absorb follows every call that may have changed the store.
func (s *space) absorb() {
	s.moved, s.hashed = true, false
	s.m.subs.touch(s)
	s.weighKeys()
	s.m.expiry.touch(s, s.ch.Keys)
	s.m.eff.Changed = s.m.eff.Changed || len(s.ch.Keys) > 0
	if s.id == Durable {
		s.disk.next.fold(s.ch.Put, s.ch.Dropped)
	}
	s.ch.Reset()
}

func (s *space) onTime() {
	if s.waiting.Due(s.m.now) {
		s.askGap()
	}
	if s.m.due(&s.roundAt) {
		s.retryRounds()
	}
	if s.m.due(&s.compareAt) {
		s.compare()
	}
	if s.m.due(&s.thawAt) {
		s.thaw()
	}
	if s.m.due(&s.settlement.at) {
		s.retrySettle()
	}
	if at := s.puller.Deadline(); s.puller.Running() && !s.m.now.Before(at) {
		s.takeRepair(s.puller.OnTime())
	}
}

// evaluate looks at what waits for clocks, after the step has moved some.
func (s *space) evaluate() {
	if s.moved && s.committed() == s.content() {
		s.acksMoved = true // the own replica's
	}
	if s.moved || s.acksMoved {
		s.settle()
		s.checkRounds()
	}
	if s.moved {
		s.compareWhenHere()
	}
}

// finish sends what the step has made due.
func (s *space) finish() {
	s.persist()
	if s.ownMoved {
		s.pushAll()
	}
	if s.acksMoved {
		s.completeWrites()
	}
	s.sendAcks()
	s.moved, s.ownMoved, s.acksMoved = false, false, false
}

// String prints the state on one line.
func (s *space) String() string {
	return fmt.Sprintf("%v content %s committed %s items %d waiting %d rounds %d settled %d",
		s.id, clockName(s.content()), clockName(s.committed()), s.store.Len(), s.waiting.Len(), len(s.rounds), s.settlement.chain.Settled())
}
