package replicator

import (
	"strings"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/wire"
)

// A disk that refuses a batch fails the writes in it at this replica. The replica tells the peers.
// A write that too many disks refuse for its level then ends at once and says why; it need not wait
// for its time-out. Nothing is rolled back: the batch is tried again, and the write counts when it
// is committed.

// whyMax bounds what a replica says of its disk, in bytes.
const whyMax = 512

// tellUnstored tells the peers that a batch with a clock was refused. They learn how far the
// commits before it came, so that a lost ack is not taken for a refusal.
func (w *writes) tellUnstored(clock *crdt.Clock, cause error) {
	if !w.r.Answers() {
		return
	}
	why := cause.Error()
	why = strings.ToValidUTF8(why[:min(len(why), whyMax)], "")
	for _, p := range w.r.Peers {
		msg := &wire.Unstored{Epoch: w.r.View.Epoch, Acked: w.r.Acked().Base(p.Id), Why: why}
		if upTo := clock.Base(p.Id); upTo > msg.Acked {
			msg.UpTo = upTo
		}
		w.r.Send(p, effect.Prompt, msg)
	}
}

// onUnstored notes what the peer's disk has refused, and ends the writes that cannot reach their
// levels any more.
func (w *writes) onUnstored(p *replica.Peer, msg *wire.Unstored) {
	if max(msg.UpTo, msg.Acked) > w.r.Items.Seq() {
		w.r.Malformed(p)
		return
	}
	w.r.LearnOwn(p, max(msg.UpTo, msg.Acked), msg.Acked)
	l := p.Link(w.r.Id)
	l.Unstored, l.Refuses, l.Why = max(l.Unstored, msg.UpTo), true, msg.Why
	for _, q := range w.queues {
		for _, o := range q.ops.Items() {
			if o.seq > l.Unstored {
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
func (w *writes) refused(p *replica.Peer, o *op) bool {
	switch {
	case w.r.Id != keyspace.Durable || o.read || w.hasWrite(p, o):
		return false
	case p == nil:
		return o.failed != nil
	case o.goal != nil:
		return p.Link(w.r.Id).Refuses
	}
	return p.Link(w.r.Id).Unstored >= o.seq && p.Link(w.r.Id).Window.Counted() < o.seq
}

// endHopeless ends a write if so many disks have refused it that the others are too few for its
// level.
func (w *writes) endHopeless(o *op) {
	if o.Done() {
		return
	}
	if o.level == quorum.Local {
		if w.refused(nil, o) {
			w.ops.end(o, &StoreError{Key: o.key, Level: o.level, Epoch: w.r.View.Epoch, Need: 1, Cause: o.failed})
		}
		return
	}
	if v := w.sets.Lacking(o.level, func(p *replica.Peer) bool { return !w.refused(p, o) }); v != nil {
		w.ops.end(o, &StoreError{Key: o.key, Level: o.level, Epoch: v.Epoch, Need: v.Need(o.level),
			Have:    v.Tally(func(p *replica.Peer) bool { return w.hasWrite(p, o) }),
			Refused: w.refusals(v, o), Cause: o.failed})
	}
}

// refusals lists the peers of a set whose disks have refused a write.
func (w *writes) refusals(v *quorum.Set[*replica.Peer], o *op) (rs []Refusal) {
	for _, p := range v.Peers { // by id
		if w.refused(p, o) {
			rs = append(rs, Refusal{p.Id, p.Link(w.r.Id).Why})
		}
	}
	return rs
}
