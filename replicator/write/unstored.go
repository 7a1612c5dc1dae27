package write

import (
	"strings"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/operation"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/wire"
)

// A disk that refuses a batch fails the writes in it at this replica. The replica tells the peers.
// A write that too many disks refuse for its level then ends at once and says why; it need not wait
// for its time-out. Nothing is rolled back: the batch is tried again, and the write counts when it
// is committed.

// WhyMax bounds what a replica says of its disk, in bytes.
const WhyMax = 512

// TellUnstored tells the peers that a batch with a clock was refused. They learn how far the
// commits before it came, so that a lost ack is not taken for a refusal.
func (w *Queue) TellUnstored(clock *crdt.Clock, cause error) {
	if !w.r.Answers() {
		return
	}
	why := cause.Error()
	why = strings.ToValidUTF8(why[:min(len(why), WhyMax)], "")
	for _, p := range w.r.Peers {
		msg := &wire.Unstored{Epoch: w.r.View.Epoch, Acked: w.r.Acked().Base(p.ID), Why: why}
		if upTo := clock.Base(p.ID); upTo > msg.Acked {
			msg.UpTo = upTo
		}
		w.r.Send(p, effect.Prompt, msg)
	}
}

// OnUnstored notes what the peer's disk has refused, and ends the writes that cannot reach their
// levels any more.
func (w *Queue) OnUnstored(p *replica.Peer, msg *wire.Unstored) {
	if max(msg.UpTo, msg.Acked) > w.r.Items.Seq() {
		w.r.Malformed(p)
		return
	}
	w.r.LearnOwn(p, max(msg.UpTo, msg.Acked), msg.Acked)
	w.r.Watch(p) // the peer owes an ack of what its disk has refused so far
	l := p.Link(w.r.ID)
	l.Unstored, l.Refuses, l.Why = max(l.Unstored, msg.UpTo), true, msg.Why
	for _, q := range w.queues {
		for _, o := range q.ops.Items() {
			if o.Seq > l.Unstored {
				break
			}
			w.endHopeless(o)
		}
	}
	for _, o := range w.goals {
		w.endHopeless(o)
	}
}

// refused reports whether a replica, the own one as nil, lacks a write because its disk has refused
// it.
func (w *Queue) refused(p *replica.Peer, o *operation.Op) bool {
	switch {
	case w.r.ID != keyspace.Durable || o.Read || w.HasWrite(p, o):
		return false
	case p == nil:
		return o.Failed != nil
	case o.Goal != nil:
		return p.Link(w.r.ID).Refuses
	}
	return p.Link(w.r.ID).Unstored >= o.Seq && p.Link(w.r.ID).Window.Counted() < o.Seq
}

// endHopeless ends a write if so many disks have refused it that the others are too few for its
// level.
func (w *Queue) endHopeless(o *operation.Op) {
	if o.Done() {
		return
	}
	if o.Level == quorum.Local {
		if w.refused(nil, o) {
			w.ops.End(o, &operation.StoreError{
				Key: o.Key, Level: o.Level, Epoch: w.r.View.Epoch, Need: 1, Cause: o.Failed,
			})
		}
		return
	}
	if v := w.sets.Lacking(o.Level, func(p *replica.Peer) bool { return !w.refused(p, o) }); v != nil {
		w.ops.End(o, &operation.StoreError{Key: o.Key, Level: o.Level, Epoch: v.Epoch, Need: v.Need(o.Level),
			Have:    v.Tally(func(p *replica.Peer) bool { return w.HasWrite(p, o) }),
			Refused: w.refusals(v, o), Cause: o.Failed})
	}
}

// refusals lists the peers of a set whose disks have refused a write.
func (w *Queue) refusals(v *quorum.Set[*replica.Peer], o *operation.Op) (rs []operation.Refusal) {
	for _, p := range v.Peers { // by id
		if w.refused(p, o) {
			rs = append(rs, operation.Refusal{Replica: p.ID, Why: p.Link(w.r.ID).Why})
		}
	}
	return rs
}
