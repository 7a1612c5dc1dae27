package read

import (
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/operation"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/wire"
)

// lookBack returns the lookback of replica 1 of five in view 5, which has made three events, and
// a report on whether an update of the third one is covered.
func lookBack(t *testing.T) (b *Lookback, peers []*replica.Peer, covered func() bool) {
	t.Helper()
	site := newSite(1, 2, 3, 4, 5)
	site.Serves = true
	r := replica.New(site, keyspace.Volatile, &quorum.Chain{})
	for range 3 {
		put := func(tx *crdt.Tx) error { return tx.Put("p", "x", nil) }
		if _, err := r.Items.Update("k", 1, put, &r.Changes); err != nil {
			t.Fatal(err)
		}
		r.Absorb()
	}
	var sets quorum.Joint[*replica.Peer]
	sets.Replace(true, []quorum.Set[*replica.Peer]{
		{Epoch: 5, Size: 5, Self: true, Peers: site.Peers, Newest: true},
	})
	ops := operation.NewInflight(site)
	x := NewLookback(r, &ops, &sets)
	x.Restart()
	return &x, site.Peers, func() bool {
		for _, p := range site.Peers {
			x.look(p.Link(r.ID))
		}
		return x.covers(&operation.Op{Key: "k", Level: quorum.Majority, Seq: 3, ThenGet: true})
	}
}

// ack is what a peer says that has three events of replica 1, and tells extra.
func (b *Lookback) ack(p *replica.Peer, epoch, answers, acked uint64, extra *crdt.Clock) {
	b.OnAck(p, &wire.Ack{
		Epoch: epoch, Space: b.r.ID, Content: acked, Acked: acked, Answers: answers, Extra: extra,
	})
}

// allTell has all peers tell of the first event of replica 2.
func (b *Lookback) allTell(peers []*replica.Peer) {
	other := &crdt.Clock{}
	other.AddRange(2, 1, 1)
	for _, p := range peers {
		b.ack(p, 5, b.r.Asking, 3, other)
	}
}

// An update is covered when a majority has told nothing that is missing here.
func TestAcksCover(t *testing.T) {
	b, peers, covered := lookBack(t)
	b.ack(peers[0], 5, b.r.Asking, 3, nil)
	b.ack(peers[1], 5, b.r.Asking, 2, nil)
	b.ack(peers[2], 5, 0, 3, nil)
	if covered() {
		t.Fatal("covered by two of five: the second ack is of an earlier event, the third answers nothing")
	}
	b.ack(peers[1], 5, b.r.Asking, 3, nil)
	if !covered() {
		t.Error("not covered by three of five")
	}
}

// What an ack has told must come here first.
func TestAnAckCoversWhenItsExtraIsHere(t *testing.T) {
	b, peers, covered := lookBack(t)
	b.allTell(peers)
	if covered() {
		t.Fatal("covered, and an event of replica 2 is missing")
	}
	b.comes(t)
	if !covered() {
		t.Error("not covered, and the event has come")
	}
}

// comes applies the first event of replica 2.
func (b *Lookback) comes(t *testing.T) {
	t.Helper()
	far := crdt.NewReplica(2, crdt.StoreOptions{DigestSeed: b.r.Cfg.DigestSeed})
	var changes crdt.Changes
	g, err := far.Update("k", 1, func(tx *crdt.Tx) error { return tx.Put("p", "y", nil) }, &changes)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.r.Items.Apply(g, &b.r.Changes); err != nil {
		t.Fatal(err)
	}
	b.r.Absorb()
}

// The own replica is one of the majority when the update counts here too.
func TestTheOwnReplicaCoversWhatCountsHere(t *testing.T) {
	b, peers, covered := lookBack(t)
	for _, p := range peers[:2] {
		b.ack(p, 5, b.r.Asking, 3, nil)
	}
	b.r.Serves = false
	if covered() {
		t.Error("covered by two of five")
	}
	b.r.Serves = true
	if !covered() {
		t.Error("not covered by three of five")
	}
}

// What waited for an event when the quorums changed covers nothing when the event comes.
func TestUnseenAcksOfOlderQuorumsDoNotCover(t *testing.T) {
	b, peers, covered := lookBack(t)
	b.allTell(peers)
	b.Restart()
	if b.comes(t); covered() {
		t.Error("covered by acks that came before the quorums changed")
	}
}

// The state of a key that has moved is not here any more: its update is answered without one.
func TestALookbackOfAKeyThatHasMovedSeesNothing(t *testing.T) {
	b, peers, covered := lookBack(t)
	for _, p := range peers {
		b.ack(p, 5, b.r.Asking, 3, nil)
	}
	if !covered() {
		t.Fatal("not covered")
	}
	b.r.Routing = keyspace.NewRoutes([]string{"k"})
	o := b.ops.NewOp(7, "k", quorum.Majority)
	o.ThenGet, o.Seq = true, 3
	b.ops.Begin(o, time.Minute)
	b.Await(o)
	if b.Complete(); len(b.r.Eff.Reply) != 1 || b.r.Eff.Reply[0].Err != nil || b.r.Eff.Reply[0].Read {
		t.Errorf("answered %v", b.r.Eff.Reply)
	}
}

// Acks of an older view do not count, nor those that were sent before the quorums changed (R15).
func TestAcksOfOlderQuorumsDoNotCover(t *testing.T) {
	b, peers, covered := lookBack(t)
	for _, p := range peers {
		b.ack(p, 4, b.r.Asking, 3, nil)
	}
	if covered() {
		t.Fatal("covered by acks of an older view")
	}
	before := b.r.Asking
	for _, p := range peers {
		b.ack(p, 5, before, 3, nil)
	}
	b.Restart()
	if covered() {
		t.Fatal("covered by acks that came before the quorums changed")
	}
	for _, p := range peers {
		b.ack(p, 5, before, 3, nil)
	}
	if covered() {
		t.Fatal("covered by acks that were sent before the quorums changed")
	}
	for _, p := range peers {
		b.ack(p, 5, b.r.Asking, 3, nil)
	}
	if !covered() {
		t.Error("not covered by acks of the new quorums")
	}
}

// The acks that wait for what they have told are bounded, and the last one is among them.
func TestUnseenAcksAreBounded(t *testing.T) {
	b, peers, _ := lookBack(t)
	for i := range uint64(3 * unseenMax) {
		other := &crdt.Clock{}
		other.AddRange(2, 1, i+1)
		b.ack(peers[0], 5, b.r.Asking, 3, other)
	}
	scattered := &crdt.Clock{}
	for i := range uint64(rangesMax + 1) {
		scattered.AddRange(2, 2*i+1, 2*i+1)
	}
	b.ack(peers[0], 5, b.r.Asking, 3, scattered)
	all := peers[0].Link(b.r.ID).Unseen
	if last := all[len(all)-1].Extra; len(all) != unseenMax || !last.Has(crdt.Dot{Origin: 2, Seq: 3 * unseenMax}) {
		t.Errorf("%d wait, the last one for %v", len(all), last)
	}
}

// An update that has reached its level waits for what its acks have told, and not for long.
func TestALookbackWaitsForAMoment(t *testing.T) {
	for _, comes := range []bool{true, false} {
		b, peers, _ := lookBack(t)
		b.r.Cfg.GapDelay = 5 * time.Millisecond
		o := b.ops.NewOp(7, "k", quorum.Majority)
		o.ThenGet, o.Seq = true, 3
		b.ops.Begin(o, time.Minute)
		b.allTell(peers)
		b.Await(o)
		if b.Complete(); len(b.r.Eff.Reply) > 0 {
			t.Fatalf("answered at once: %v", b.r.Eff.Reply)
		}
		if comes {
			for _, p := range peers {
				b.ack(p, 5, b.r.Asking, 3, nil)
			}
		} else {
			b.r.Now = b.Deadline()
		}
		b.Complete()
		if got := b.r.Eff.Reply; len(got) != 1 || got[0].ID != 7 || got[0].Err != nil || got[0].Read != comes {
			t.Errorf("comes %v: answered %v", comes, got)
		}
		if !b.Deadline().IsZero() || b.ops.Pending() > 0 {
			t.Errorf("comes %v: it waits on", comes)
		}
	}
}
