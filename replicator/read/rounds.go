package read

import (
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/runloop/timer"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/exchange"
	"github.com/coterie-go/coterie/replicator/operation"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/wire"
)

// Rounds is the quorum reads of one space, and the first catching up of this replica, which is one.
type Rounds struct {
	r       *replica.Replica
	ops     *operation.Inflight
	sets    *quorum.Joint[*replica.Peer] // whose quorums count
	gaps    *exchange.Gaps
	idle    func() bool // whether nothing else waits for the timer
	rounds  []*round
	at      time.Time // when to ask again
	learned bool      // a majority's clocks, as they were when the first view came, are contained
}

// roundsMax bounds the rounds that are out; the reads of one that is not out yet share it.
const roundsMax = 4

// NewRounds makes Rounds without reads. sets says whose quorums count; idle reports whether nothing
// else waits for the timer.
func NewRounds(
	r *replica.Replica, ops *operation.Inflight, sets *quorum.Joint[*replica.Peer],
	gaps *exchange.Gaps, idle func() bool,
) Rounds {
	return Rounds{r: r, ops: ops, sets: sets, gaps: gaps, idle: idle}
}

// Begin begins a quorum read.
func (q *Rounds) Begin(o *operation.Op, timeout time.Duration) {
	q.ops.Begin(o, timeout)
	r := q.openRound()
	r.ops = append(r.ops, o)
	if !r.sent && q.roundsOut() < roundsMax {
		q.askRound(r)
	}
	q.checkRound(r)
	q.dropRounds()
}

// openRound returns the round that has not been sent, a new one when there is none.
func (q *Rounds) openRound() *round {
	if n := len(q.rounds); n > 0 && !q.rounds[n-1].sent {
		return q.rounds[n-1]
	}
	r := &round{id: q.r.NextQuestion()}
	q.rounds = append(q.rounds, r)
	return r
}

func (q *Rounds) roundsOut() int {
	n := 0
	for _, r := range q.rounds {
		if r.sent {
			n++
		}
	}
	return n
}

// askRound sends the question to as many as are needed and one more; to all when that has been
// tried for RetryInterval.
func (q *Rounds) askRound(r *round) {
	r.sent = true
	msg := &wire.Ask{Epoch: q.r.View.Epoch, Space: q.r.ID, ID: r.id, Hash: q.r.ContentHash()}
	for _, p := range q.sets.Choose(r.levels(), r.tries > 0 || r.learn, q.r.ToRead) {
		if r.answer(p) == nil {
			q.r.Send(p, effect.Prompt, msg)
		}
	}
	q.Arm(q.r.Now.Add(q.r.Backoff(r.tries)))
}

// OnAsk answers with what counts here and the asker may lack. One that has not caught up does not
// answer (R4).
func (q *Rounds) OnAsk(p *replica.Peer, ask *wire.Ask) {
	if !q.r.Answers() {
		return
	}
	reply := &wire.Answer{Epoch: q.r.View.Epoch, Space: q.r.ID, ID: ask.ID}
	if ask.Hash == q.r.ContentHash() {
		q.r.LearnContent(p, q.r.Content())
	} else {
		reply.Extra = q.r.Acked().Minus(p.Link(q.r.ID).Content)
	}
	q.r.Send(p, effect.Prompt, reply)
}

// OnAnswer takes a peer's clock, and fetches from the peer what is missing.
func (q *Rounds) OnAnswer(p *replica.Peer, a *wire.Answer) {
	if a.Extra != nil {
		q.r.LearnAcked(p, a.Extra)
	}
	if a.Epoch != q.r.View.Epoch {
		return // the round is asked again when the epoch is the same for both (R15)
	}
	i := slices.IndexFunc(q.rounds, func(r *round) bool { return r.id == a.ID })
	if i < 0 {
		return
	}
	r := q.rounds[i]
	extra := q.told(r, a)
	if extra != nil && q.own(r).Includes(extra) {
		extra = nil
	}
	r.take(p, extra)
	if extra != nil {
		q.gaps.Fetch(p, extra)
	}
	q.checkRound(r)
	q.dropRounds()
}

// told is what must be contained here before an answer counts; nil: nothing more than is. A peer leaves out what it
// knows to be in the content, and for learning that may not be on disk yet.
func (q *Rounds) told(r *round, a *wire.Answer) *crdt.Clock {
	if !r.learn || q.r.Committed() == q.r.Content() {
		return a.Extra
	}
	all := q.r.Content().Clone()
	if a.Extra != nil {
		all.Join(a.Extra)
	}
	return all
}

// own is the clock that must contain what peers tell. Learning wants it on disk as well.
func (q *Rounds) own(r *round) *crdt.Clock {
	if r.learn {
		return q.r.Committed()
	}
	return q.r.Content()
}

// CheckRounds answers the reads whose clocks are contained by now.
func (q *Rounds) CheckRounds() {
	if len(q.rounds) == 0 {
		return
	}
	for _, r := range q.rounds {
		q.checkRound(r)
	}
	q.dropRounds()
}

func (q *Rounds) checkRound(r *round) {
	r.look(q.own(r), q.r.Moved)
	answered := func(p *replica.Peer) bool { return q.Answered(r, p) }
	count := len(r.answers) - r.missing
	if q.hasty(r) {
		count = len(r.answers)
	}
	if r.learn {
		q.learned = q.learned || q.sets.Taught(count, answered)
		return
	}
	keep := r.ops[:0]
	var level quorum.Level
	agreed := false
	for i, o := range r.ops {
		if i == 0 || o.Level != level { // mostly all are of one
			level, agreed = o.Level, q.sets.MayAgree(o.Level, count+1) && q.sets.Agreed(o.Level, answered)
		}
		if !o.Done() && agreed {
			q.ops.EndRead(o, q.r.Store.View(o.Key))
		}
		if !o.Done() {
			keep = append(keep, o)
		}
	}
	clear(r.ops[len(keep):])
	r.ops = keep
}

// Answered reports whether what a peer has told is contained here by now. The own replica is asked
// as nil.
func (q *Rounds) Answered(r *round, p *replica.Peer) bool {
	if p == nil {
		return true
	}
	a := r.answer(p)
	return a != nil && (a.extra == nil || q.hasty(r))
}

// hasty reports whether answers count whose clocks are not contained: a planted defect.
func (q *Rounds) hasty(r *round) bool { return !r.learn && q.r.Cfg.Planted(defect.ReadWithoutCatchUp) }

// RoundOf is the round that serves a read.
func (q *Rounds) RoundOf(o *operation.Op) *round {
	i := slices.IndexFunc(q.rounds, func(r *round) bool { return slices.Contains(r.ops, o) })
	if i < 0 {
		return &round{}
	}
	return q.rounds[i]
}

// dropRounds forgets the rounds that serve no read any more, and sends the one that waited for a
// place.
func (q *Rounds) dropRounds() {
	q.rounds = slices.DeleteFunc(q.rounds, func(r *round) bool { return len(r.ops) == 0 && (!r.learn || q.learned) })
	if n := len(q.rounds); n > 0 && !q.rounds[n-1].sent && q.roundsOut() < roundsMax {
		q.askRound(q.rounds[n-1])
	}
	if len(q.rounds) == 0 && q.idle() {
		q.at = time.Time{}
		q.gaps.AskAgain()
	}
}

// Retry asks again. It asks all peers now, also a peer whose answer is not contained yet:
// when the only peer that holds a dot dies, another peer's clock takes the place of its clock.
func (q *Rounds) Retry() {
	q.gaps.AskAgain()
	for _, r := range q.rounds {
		for _, o := range r.ops {
			if o.Done() { // it has timed out
				r.ops = slices.DeleteFunc(r.ops, (*operation.Op).Done)
				break
			}
		}
	}
	q.dropRounds()
	for _, r := range q.rounds {
		if r.sent {
			r.tries++
			r.forgetMissing(q.r.Content().Includes)
			q.askRound(r)
		}
	}
}

// Restart asks everything again. Under a new view, answers given under an older one do not
// count (R15). When a view is settled, the older ones need not answer any more. But a peer that has
// answered may have had none of their content then. The question gets a new number, so that late
// answers to the old one are not taken for answers to it.
func (q *Rounds) Restart() {
	for _, r := range q.rounds {
		if r.sent {
			r.id, r.answers, r.missing, r.tries = q.r.NextQuestion(), nil, 0, 0
			q.askRound(r)
		}
	}
	q.CheckRounds()
}

// Take takes away the waiting reads that satisfy goes.
func (q *Rounds) Take(goes func(*operation.Op) bool) (taken []*operation.Op) {
	for _, r := range q.rounds {
		var some []*operation.Op
		r.ops, some = operation.Split(r.ops, goes)
		taken = append(taken, some...)
	}
	return taken
}

// Learn begins to catch up, by a round that asks all.
func (q *Rounds) Learn() {
	q.rounds = append(q.rounds, &round{id: q.r.NextQuestion(), learn: true, sent: true})
}

// Drop forgets the reads; they have been answered.
func (q *Rounds) Drop() { q.rounds, q.at = nil, time.Time{} }

// Arm makes sure that it is asked again at a time or earlier.
func (q *Rounds) Arm(at time.Time) { q.at = timer.Earliest(q.at, at) }

// Leave forgets that this replica has caught up, when it is no member any more.
func (q *Rounds) Leave() { q.learned = false }

// SkipLearning says that there is nothing to catch up with.
func (q *Rounds) SkipLearning() { q.learned = true }

// Taught reports whether this replica contains what a majority told when the first view came.
func (q *Rounds) Taught() bool { return q.learned }

// Due reports whether it is time to ask again.
func (q *Rounds) Due() bool { return q.r.Due(&q.at) }

// Deadline is when to ask again; zero: never.
func (q *Rounds) Deadline() time.Time { return q.at }

// Len returns how many rounds are under way.
func (q *Rounds) Len() int { return len(q.rounds) }

// Check returns a broken invariant: what the own clock contains is not missing.
func (q *Rounds) Check() error {
	for _, r := range q.rounds {
		missing := 0
		for i := range r.answers {
			a := &r.answers[i]
			if a.extra == nil {
				continue
			}
			if missing++; q.own(r).Includes(a.extra) {
				return fmt.Errorf("round %d misses %v of %v, which %v contains", r.id, a.extra, a.from.ID, q.own(r))
			}
		}
		if missing != r.missing {
			return fmt.Errorf("round %d counts %d answers with something missing of %d", r.id, r.missing, missing)
		}
	}
	return nil
}
