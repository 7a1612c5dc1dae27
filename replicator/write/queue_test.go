package write

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/operation"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/settings"
)

// newSite returns the site of replica 1 in a view.
func newSite(cfg settings.Config, v replica.View) *replica.Site {
	cfg.Self, cfg.RetryInterval = 1, time.Second
	site := replica.NewSite(cfg, rand.New(rand.NewPCG(1, 1)))
	site.Now = time.Unix(1000, 0)
	site.Install(v, [keyspace.Count]uint64{})
	return &site
}

// newQueue returns the writes of replica 1 in a settled view of three.
func newQueue(id keyspace.Space) (*Queue, *replica.Site) {
	site := newSite(settings.Config{BatchRowsMax: 10, BatchBytesMax: 1 << 20},
		replica.View{Epoch: 5, Voters: []replica.Member{{ID: 1}, {ID: 2}, {ID: 3}}})
	ops := operation.NewInflight(site)
	var sets quorum.Joint[*replica.Peer]
	sets.Replace(true, []quorum.Set[*replica.Peer]{
		{Epoch: 5, Size: 3, Self: true, Peers: site.Peers, Newest: true},
	})
	w := NewQueue(replica.New(site, id, &quorum.Chain{}), &ops, &sets, nil)
	return &w, site
}

// wait lets a write of an event wait.
func wait(w *Queue, id, seq uint64, l quorum.Level) *operation.Op {
	o := w.ops.NewOp(id, "k", l)
	o.Seq = seq
	w.ops.Begin(o, time.Minute)
	w.Enqueue(o)
	return o
}

// The ack of a peer counts when the peer is known to have installed the view (R15).
func TestAcksOfAnOlderViewDoNotCount(t *testing.T) {
	w, site := newQueue(keyspace.Volatile)
	site.Serves = true
	wait(w, 1, 3, quorum.Majority)
	for _, p := range site.Peers {
		p.Epoch = 4
		w.r.LearnOwn(p, 3, 3)
	}
	if w.Complete(); len(site.Eff.Reply) > 0 {
		t.Fatalf("answered with acks of an older view: %v", site.Eff.Reply)
	}
	for i, p := range site.Peers {
		p.Epoch = 5
		w.Complete()
		if got := len(site.Eff.Reply); got != i {
			t.Fatalf("%d answers with the acks of %d of three", got, i+1)
		}
	}
	if r := site.Eff.Reply[0]; r.ID != 1 || r.Err != nil || w.Len() != 0 {
		t.Errorf("answered %v, %d wait", r, w.Len())
	}
}

// An ack answers the writes up to the event that it names, also behind one that has timed out, and no later one.
func TestAnAckAnswersThePrefixThatItCovers(t *testing.T) {
	for _, late := range []bool{false, true} {
		w, site := newQueue(keyspace.Volatile)
		site.Serves = true
		first := wait(w, 1, 1, quorum.Majority)
		wait(w, 2, 2, quorum.Majority)
		wait(w, 3, 3, quorum.Majority)
		if late {
			w.ops.End(first, errors.New("it has timed out"))
		}
		for _, p := range site.Peers {
			p.Epoch = 5
			w.r.LearnOwn(p, 2, 2)
		}
		if w.Complete(); len(site.Eff.Reply) != 2 || site.Eff.Reply[1].ID != 2 || w.Len() != 1 {
			t.Errorf("the first is late: %t: answered %v, %d wait", late, site.Eff.Reply, w.Len())
		}
	}
}

// A disk that refuses a batch fails the writes up to the last event of the batch, and no later one.
func TestARefusedBatchFailsItsWrites(t *testing.T) {
	w, site := newQueue(keyspace.Durable)
	for seq := range uint64(3) {
		wait(w, seq+1, seq+1, quorum.Local)
	}
	cause := errors.New("no space")
	w.FailLocal(2, cause)
	if len(site.Eff.Reply) != 2 || w.Len() != 1 {
		t.Fatalf("%d answers, %d wait", len(site.Eff.Reply), w.Len())
	}
	for i, r := range site.Eff.Reply {
		if r.ID != uint64(i+1) || !errors.Is(r.Err, operation.ErrStoreFailure) {
			t.Errorf("write %d: %v", r.ID, r.Err)
		}
	}
}

// A write at Local is acknowledged when the disk has it, not before.
func TestALocalWriteAwaitsTheDisk(t *testing.T) {
	w, site := newQueue(keyspace.Durable)
	site.Serves = true
	if _, err := w.r.Items.Update("k", 0, func(tx *crdt.Tx) error {
		return tx.Put("p", "v", nil)
	}, &w.r.Changes); err != nil {
		t.Fatal(err)
	}
	w.r.Absorb()
	wait(w, 1, 1, quorum.Local)
	w.r.Persist()
	if w.Complete(); len(site.Eff.Reply) != 0 || len(site.Eff.Persist) != 1 || w.r.Content().Base(1) != 1 {
		t.Fatalf("answered %v while %d batches are written", site.Eff.Reply, len(site.Eff.Persist))
	}
	w.r.Disk.Written(site.Eff.Persist[0].ID)
	if w.Complete(); len(site.Eff.Reply) != 1 || site.Eff.Reply[0].Err != nil {
		t.Errorf("answered %v when the disk has it", site.Eff.Reply)
	}
}
