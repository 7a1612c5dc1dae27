package read

import (
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/exchange"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/operation"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/repair"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/wire"
)

// newRounds returns the quorum reads of replica 1.
func newRounds(site *replica.Site) *Rounds {
	ops, r := operation.NewInflight(site), replica.New(site, keyspace.Volatile, &quorum.Chain{})
	var sets quorum.Joint[*replica.Peer]
	sets.Replace(true, []quorum.Set[*replica.Peer]{all(site)})
	gaps := exchange.NewGaps(r, repair.NewPuller(repair.Env{}))
	q := NewRounds(r, &ops, &sets, &gaps, func() bool { return true })
	return &q
}

// begin begins a majority read.
func (q *Rounds) begin() {
	o := q.ops.NewOp(1, "k", quorum.Majority)
	o.Read = true
	q.Begin(o, time.Minute)
}

// beginRound returns the rounds of replica 1 of five, in which a majority read has asked the others.
func beginRound(t *testing.T) (*Rounds, *replica.Site) {
	t.Helper()
	site := newSite(1, 2, 3, 4, 5)
	q := newRounds(site)
	q.begin()
	if len(q.rounds) != 1 || len(site.Eff.Send) != 3 {
		t.Fatalf("%d rounds ask with %d messages", len(q.rounds), len(site.Eff.Send))
	}
	return q, site
}

// answer has a peer answer the round that is out, and returns how many reads are answered then.
func (q *Rounds) answer(p *replica.Peer, epoch uint64, extra *crdt.Clock) int {
	q.OnAnswer(p, &wire.Answer{Epoch: epoch, Space: q.r.ID, ID: q.rounds[0].id, Extra: extra})
	return len(q.r.Eff.Reply)
}

// The answers of an older view do not count (V7).
func TestAnswersOfAnOlderViewDoNotCount(t *testing.T) {
	q, site := beginRound(t)
	for _, p := range site.Peers {
		if q.answer(p, 4, nil) != 0 {
			t.Fatal("answers of an older view answer the read")
		}
	}
	for range 2 {
		if q.answer(site.Peers[0], 5, nil) != 0 {
			t.Fatal("one peer of four answers the read")
		}
	}
	if q.answer(site.Peers[1], 5, nil) != 1 || q.Len() != 0 {
		t.Errorf("answered %v with three of five, %d rounds wait", site.Eff.Reply, q.Len())
	}
}

// A round that is asked anew, because the quorums have changed, counts what is said from then on.
func TestARestartForgetsTheAnswers(t *testing.T) {
	q, site := beginRound(t)
	q.answer(site.Peers[0], 5, nil)
	before := q.rounds[0].id
	if q.Restart(); q.rounds[0].id == before {
		t.Fatal("an answer to the question before would count")
	}
	if q.answer(site.Peers[1], 5, nil) != 0 {
		t.Fatal("an answer from before the restart counts")
	}
	if q.answer(site.Peers[2], 5, nil) != 1 {
		t.Error("two answers to the new question do not answer the read")
	}
}

// A peer whose content has not arrived here is asked again: it may have left, or what it sent was
// lost.
func TestAPeerThatIsAheadIsAskedAgain(t *testing.T) {
	q, site := beginRound(t)
	ahead, same := site.Peers[0], site.Peers[1]
	extra := &crdt.Clock{}
	extra.Add(crdt.Dot{Origin: 9, Seq: 1})
	q.answer(ahead, 5, extra)
	if q.answer(same, 5, nil) != 0 {
		t.Fatal("a peer that has more than this replica answers the read")
	}
	site.Eff.Send = nil
	q.Retry()
	asked := map[crdt.Origin]bool{}
	for _, e := range site.Eff.Send {
		if _, is := e.Msg.(*wire.Ask); is {
			asked[e.To] = true
		}
	}
	if !asked[ahead.ID] || asked[same.ID] {
		t.Errorf("asked again: %v, want %d and not %d", asked, ahead.ID, same.ID)
	}
	if q.answer(ahead, 5, nil) != 1 {
		t.Error("the read is not answered when nothing is missing any more")
	}
}
