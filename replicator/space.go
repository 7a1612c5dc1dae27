package replicator

import (
	"fmt"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/runloop/timer"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/replicator/exchange"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/operation"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/read"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/settlement"
	"github.com/coterie-go/coterie/replicator/wire"
	"github.com/coterie-go/coterie/replicator/write"
)

// space is one of the two halves of a machine: a replica, and the owners of what is under way for
// it.
type space struct {
	*replica.Replica
	ops        *operation.Inflight
	pusher     exchange.Pusher
	gaps       exchange.Gaps
	intake     exchange.Intake
	repairs    repairs
	settlement settlement.Settlement
	writes     write.Queue
	reads      read.Rounds
	compares   read.Linear
	lookback   read.Lookback
	holding    write.Holding
}

func newSpace(t *replica.Site, id keyspace.Space, ops *operation.Inflight) *space {
	s := &space{ops: ops}
	s.Replica = replica.New(t, id, s.settlement.Unsettled())
	r, sets := s.Replica, s.settlement.Quorums()
	s.pusher = exchange.NewPusher(r)
	s.repairs = repairs{Replica: r, intake: &s.intake}
	s.repairs.puller = newPuller(&s.repairs)
	s.intake = exchange.NewIntake(r, &s.pusher, s.repairs.puller)
	s.gaps = exchange.NewGaps(r, s.repairs.puller)
	s.settlement = settlement.New(r, &s.pusher, &s.gaps, s.restart)
	s.lookback = read.NewLookback(r, ops, sets)
	s.writes = write.NewQueue(r, ops, sets, s.lookback.Await)
	s.reads = read.NewRounds(r, ops, sets, &s.gaps, s.writes.Idle)
	s.holding = write.NewHolding(r, ops, sets, s.pusher.Outbox())
	s.compares = read.NewLinear(r, ops, sets, &s.gaps, s.holding.Freeze)
	return s
}

func (s *space) onTime() {
	s.intake.OnTime()
	if s.reads.Due() {
		s.retryReads()
	}
	s.compares.OnTime()
	s.holding.OnTime()
	s.settlement.OnTime()
	s.repairs.onTime()
}

// dueAt tells when there is something to do, as far as that is known.
func (s *space) dueAt(d *timer.Next) {
	d.DueAt(s.intake.Deadline())
	d.DueAt(s.reads.Deadline())
	d.DueAt(s.compares.Deadline())
	d.DueAt(s.settlement.Deadline())
	d.DueAt(s.holding.Deadline())
	d.DueAt(s.lookback.Deadline())
	d.DueAt(s.repairs.deadline())
}

// retryReads asks again for what reads, and writes that changed nothing, wait for.
func (s *space) retryReads() {
	s.reads.Retry()
	if s.writes.DropGoals(); !s.writes.Idle() {
		s.askForGoals()
	}
}

// askForGoals asks the peers what they hold, for the writes that changed nothing.
func (s *space) askForGoals() {
	s.AskAll()
	s.reads.Arm(s.Now.Add(s.Cfg.RetryInterval))
}

// restart asks everything again, because the quorums that count have changed.
func (s *space) restart() {
	s.reads.Restart()
	s.compares.Restart()
	s.lookback.Restart()
}

// evaluate looks at what waits for clocks, after the step has moved some.
func (s *space) evaluate() {
	if s.Moved && s.Committed() == s.Content() {
		s.NoteAcks() // the own replica's
	}
	if s.Moved || s.AcksMoved {
		s.settlement.Settle()
		s.reads.CheckRounds()
	}
	if s.Moved {
		s.compares.Resume()
	}
}

// finish sends what the step has made due.
func (s *space) finish() {
	s.Persist()
	s.pusher.PushFresh()
	if s.AcksMoved {
		s.writes.Complete()
	}
	s.lookback.Complete()
	s.pusher.SendAcks()
	s.Rest()
}

// String prints the state on one line.
func (s *space) String() string {
	return fmt.Sprintf("%v content %s committed %s items %d waiting %d rounds %d settled %d",
		s.ID, wire.ClockName(s.Content()),
		wire.ClockName(s.Committed()), s.Store.Len(), s.intake.Waits(), s.reads.Len(), s.Chain.Settled())
}

// update carries out an update whose turn has come.
func (s *space) update(o *operation.Op, timeout time.Duration) {
	mutate := o.Mutate
	o.Mutate = nil
	var g crdt.Group
	var err error
	if o.Forever {
		g, err = s.Items.DeleteForever(o.Key, &s.Changes)
	} else {
		g, err = s.Items.Update(o.Key, s.Now.UnixNano(), mutate, &s.Changes)
	}
	if err != nil {
		s.Changes.Reset()
		s.ops.Finish(o, err)
		return
	}
	if len(g) == 0 {
		o.Goal = s.ContentCopy()
		if s.writes.AwaitGoal(o, timeout) {
			s.askForGoals()
		}
		return
	}
	s.Absorb()
	s.pusher.Made(g, o.ThenGet)
	o.Seq = g.Last().Seq
	if s.ID == keyspace.Volatile && o.Level == quorum.Local {
		s.ops.Finish(o, nil)
		return
	}
	s.ops.Begin(o, timeout)
	s.writes.Enqueue(o)
}

// onAck takes what a peer has of the own events, and what it had when they came to count there.
func (s *space) onAck(p *replica.Peer, a *wire.Ack) {
	if s.pusher.OnAck(p, a) {
		s.lookback.OnAck(p, a)
	}
}

// onPersisted takes the disk's answer. Only now does what the batch held count (R7).
func (s *space) onPersisted(id uint64, err error) {
	if err != nil && !s.Cfg.Planted(defect.FailureIsSuccess) {
		s.Counters.StoreFailures++
		clock, own := s.Disk.Failed(s.Now, id)
		s.writes.FailLocal(own, err)
		s.writes.TellUnstored(clock, err)
		return
	}
	if !s.Disk.Written(id) {
		return
	}
	s.NoteAcks()
	s.compares.Hurry()
	s.pusher.OweAcked()
}

// took takes what a call of the store has made. It reports whether that is
// anything.
func (s *space) took(g crdt.Group, err error) bool {
	if err != nil || g == nil {
		s.Changes.Reset()
		return false
	}
	s.Absorb()
	s.pusher.Made(g, false)
	return true
}

// leave forgets what is under way, when this replica is no member any more.
func (s *space) leave() {
	s.repairs.stop()
	s.intake.Leave()
	s.gaps.AskAgain()
	s.reads.Leave()
	s.settlement.Leave()
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
