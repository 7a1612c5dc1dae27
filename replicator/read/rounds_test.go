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

// event is one of another replica, and the clock that has it.
func event(tb testing.TB, other *crdt.Replica) (crdt.Group, *crdt.Clock) {
	tb.Helper()
	g, err := other.Update("k", 0, func(tx *crdt.Tx) error { return tx.Replace("p", "") }, nil)
	if err != nil {
		tb.Fatal(err)
	}
	has := &crdt.Clock{}
	has.Add(g.Last())
	return g, has
}

// arrive applies a group in a step, and ends the step.
func (q *Rounds) arrive(tb testing.TB, g crdt.Group) {
	tb.Helper()
	if _, err := q.r.Items.Apply(g, &q.r.Changes); err != nil {
		tb.Fatal(err)
	}
	q.r.Absorb()
	q.CheckRounds()
	q.r.Rest()
}

// What answers tell of is looked for again when it may have come; those that miss something are not counted before.
func TestWhatIsMissingComes(t *testing.T) {
	for _, learns := range []bool{false, true} {
		q, site := beginRound(t)
		if learns {
			q.rounds[0].ops, q.rounds[0].learn = nil, true
		}
		done := func() bool { return q.learned || len(site.Eff.Reply) > 0 }
		g, extra := event(t, crdt.NewReplica(9, crdt.StoreOptions{}))
		for _, p := range site.Peers {
			q.answer(p, 5, extra)
		}
		q.CheckRounds()
		if err := q.Check(); err != nil || done() || q.rounds[0].missing != len(site.Peers) {
			t.Fatalf("learns %t: %v, answered %t, %d answers miss something", learns, err, done(), q.rounds[0].missing)
		}
		if q.arrive(t, g); !done() || q.Len() != 0 {
			t.Errorf("learns %t: answered %t when it has come, %d rounds wait", learns, done(), q.Len())
		}
	}
}

// A round that forgets what it misses, or counts it wrongly, is found.
func TestRoundsAreChecked(t *testing.T) {
	q, site := beginRound(t)
	g, extra := event(t, crdt.NewReplica(9, crdt.StoreOptions{}))
	q.answer(site.Peers[0], 5, extra)
	if q.rounds[0].missing = 0; q.Check() == nil {
		t.Error("a wrong count is not found")
	}
	q.rounds[0].missing = 1
	if _, err := q.r.Items.Apply(g, &q.r.Changes); err != nil {
		t.Fatal(err)
	}
	if q.Check() == nil {
		t.Error("what was not looked for again is not found")
	}
}
