package replicator

import (
	"fmt"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/deadline"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/wire"
)

// space is one of the two halves of a machine: a replica, and the owners of what is under way for
// it.
type space struct {
	*replica.Replica
	ops        *inflight
	pusher     pusher
	gaps       gaps
	intake     intake
	repairs    repairs
	settlement settlement
	writes     writes
	reads      reads
	compares   compares
	holding    holding
}

func newSpace(t *replica.Site, id keyspace.Space, ops *inflight) *space {
	s := &space{ops: ops}
	s.Replica = replica.New(t, id, s.settlement.unsettled())
	r, sets := s.Replica, s.settlement.quorums()
	s.pusher = newPusher(r)
	s.repairs = repairs{Replica: r, intake: &s.intake}
	s.repairs.puller = newPuller(&s.repairs)
	s.intake = newIntake(r, &s.pusher, s.repairs.puller)
	s.gaps = newGaps(r, s.repairs.puller)
	s.settlement = newSettlement(r, &s.pusher, &s.gaps, s.restart)
	s.writes = newWrites(r, ops, sets)
	s.reads = newReads(r, ops, sets, &s.gaps, s.writes.idle)
	s.holding = newHolding(r, ops, s.pusher.outbox())
	s.compares = newCompares(r, ops, sets, &s.gaps, s.holding.freeze)
	return s
}

func (s *space) onTime() {
	s.intake.onTime()
	if s.reads.due() {
		s.retryReads()
	}
	s.compares.onTime()
	s.holding.onTime()
	s.settlement.onTime()
	s.repairs.onTime()
}

// deadline is when there is something to do, zero: nothing that is known yet.
func (s *space) deadline() time.Time {
	return deadline.Earliest(s.intake.deadline(), s.reads.deadline(), s.compares.deadline(), s.settlement.deadline(),
		s.holding.deadline(), s.repairs.puller.Deadline())
}

// retryReads asks again for what reads, and writes that changed nothing, wait for.
func (s *space) retryReads() {
	s.reads.retry()
	if s.writes.dropGoals(); !s.writes.idle() {
		s.askForGoals()
	}
}

// askForGoals asks the peers what they hold, for the writes that changed nothing.
func (s *space) askForGoals() {
	s.AskAll()
	s.reads.arm(s.Now.Add(s.Cfg.RetryInterval))
}

// restart asks everything again, because the quorums that count have changed.
func (s *space) restart() {
	s.reads.restart()
	s.compares.restart()
}

// evaluate looks at what waits for clocks, after the step has moved some.
func (s *space) evaluate() {
	if s.Moved && s.Committed() == s.Content() {
		s.NoteAcks() // the own replica's
	}
	if s.Moved || s.AcksMoved {
		s.settlement.settle()
		s.reads.checkRounds()
	}
	if s.Moved {
		s.compares.resume()
	}
}

// finish sends what the step has made due.
func (s *space) finish() {
	s.Persist()
	s.pusher.pushFresh()
	if s.AcksMoved {
		s.writes.complete()
	}
	s.pusher.sendAcks()
	s.Rest()
}

// String prints the state on one line.
func (s *space) String() string {
	return fmt.Sprintf("%v content %s committed %s items %d waiting %d rounds %d settled %d",
		s.Id, wire.ClockName(s.Content()),
		wire.ClockName(s.Committed()), s.Store.Len(), s.intake.waits(), s.reads.len(), s.Chain.Settled())
}

// update carries out an update whose turn has come.
func (s *space) update(o *op, timeout time.Duration) {
	mutate := o.mutate
	o.mutate = nil
	var g crdt.Group
	var err error
	if o.forever {
		g, err = s.Items.DeleteForever(o.key, &s.Changes)
	} else {
		g, err = s.Items.Update(o.key, s.Now.UnixNano(), mutate, &s.Changes)
	}
	if err != nil {
		s.Changes.Reset()
		s.ops.finish(o, err)
		return
	}
	if len(g) == 0 {
		o.goal = s.Content().Clone()
		if s.writes.awaitGoal(o, timeout) {
			s.askForGoals()
		}
		return
	}
	s.Absorb()
	s.pusher.made(g)
	o.seq = g.Last().Seq
	if s.Id == keyspace.Volatile && o.level == quorum.Local {
		s.ops.finish(o, nil)
		return
	}
	s.ops.begin(o, timeout)
	s.writes.enqueue(o)
}

// onPersisted takes the disk's answer. Only now does what the batch held count (R7).
func (s *space) onPersisted(id uint64, err error) {
	if err != nil {
		s.Counters.StoreFailures++
		clock, own := s.Disk.Failed(s.Now, id)
		s.writes.failLocal(own, err)
		s.writes.tellUnstored(clock, err)
		return
	}
	if !s.Disk.Written(id) {
		return
	}
	s.NoteAcks()
	s.compares.hurry()
	s.pusher.oweAcked()
}

// took takes what a call of the store has made. It reports whether that is
// anything.
func (s *space) took(g crdt.Group, err error) bool {
	if err != nil || g == nil {
		s.Changes.Reset()
		return false
	}
	s.Absorb()
	s.pusher.made(g)
	return true
}

// leave forgets what is under way, when this replica is no member any more.
func (s *space) leave() {
	s.repairs.puller.Stop()
	s.intake.leave()
	s.gaps.askAgain()
	s.reads.leave()
	s.settlement.leave()
}

// sweep removes some of what no reader is shown, and reports whether there is more.
func (s *space) sweep() (more bool) {
	before := s.Store.Len()
	g, more, err := s.Items.Sweep(tidyItems, &s.Changes)
	if s.took(g, err) {
		s.Counters.Swept += uint64(before - s.Store.Len())
	}
	return more && err == nil
}
