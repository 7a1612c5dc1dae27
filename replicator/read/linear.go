package read

import (
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/runloop/timer"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/exchange"
	"github.com/coterie-go/coterie/replicator/operation"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/wire"
)

// A linearizable read is answered when a quorum holds the same state of the key. The same state
// means the same events, not only the same items: a replica that has seen an item come and go would
// look like one that has never seen it. The reader pins its state and sends its clock as a
// difference. Each peer that is asked answers with the dots that count at one side only. It also
// reports whether its own ones among these dots belong to the keys in question; the reader knows
// this of the other dots. So other keys may change at any time, and one round trip is enough while
// the key does not change.
//
// Why that is enough: events of the key that count at a replica never stop counting, so the states
// that a replica agrees to form a chain. Any two quorums share a replica, so all states that are
// read form one chain. In this chain the state of a later read is never before that of an earlier
// one. A write that a majority acknowledged before the read began is part of the state that is
// read.

// Linear are the linearizable reads of one space.
type Linear struct {
	r    *replica.Replica
	ops  *operation.Inflight
	sets *quorum.Joint[*replica.Peer] // whose quorums count
	gaps *exchange.Gaps
	// holds updates of a key back for a while
	freeze func(key string, d time.Duration)
	underway
}

// underway is what waits for comparisons, and the one that is out.
type underway struct {
	linear    []*operation.Op // those that wait for the next comparison
	comparing *comparison     // the one that is out, nil: none
	at        time.Time       // when to begin the next one, or to give this one up
	from      time.Time       // not earlier than this, whatever comes
	behind    *crdt.Clock     // what the last one found missing here; nil: nothing
	holdUntil time.Time       // until then updates are held back
	trip      time.Duration   // how long the last one took
}

// Comparisons follow each other at once up to eagerTries. Then the voters are asked to hold updates
// of the key back for a few round trips, so that writers do not starve readers: what is on its way
// comes to rest. If that was not enough, later ones wait, ever longer, up to RetryInterval.
const (
	eagerTries = 3
	holdTrips  = 4
	holdLeast  = time.Millisecond
)

// NewLinear makes a Linear without reads. sets says whose quorums count; freeze holds updates of a
// key back for a while.
func NewLinear(
	r *replica.Replica, ops *operation.Inflight, sets *quorum.Joint[*replica.Peer], gaps *exchange.Gaps,
	freeze func(key string, d time.Duration),
) Linear {
	return Linear{r: r, ops: ops, sets: sets, gaps: gaps, freeze: freeze}
}

// Add lets a linearizable read wait for the next comparison.
func (x *Linear) Add(o *operation.Op) {
	x.linear = append(x.linear, o)
	if x.comparing == nil && x.at.IsZero() {
		x.compare()
	}
}

// compare begins a comparison of the keys that are waited for. One that is still out has taken too
// long, or has to be asked anew.
func (x *Linear) compare() {
	x.at, x.from = time.Time{}, time.Time{}
	if x.comparing != nil {
		x.giveUp()
	}
	x.behind = nil
	if x.linear = slices.DeleteFunc(x.linear, (*operation.Op).Done); len(x.linear) == 0 {
		return
	}
	c := &comparison{id: x.r.NextQuestion(), clock: x.r.ContentCopy(), hash: x.r.ContentHash(), began: x.r.Now}
	x.linear = c.sort(x.linear, x.r.Cfg.FrameMax/2)
	var uncounted *crdt.Clock // of the own content
	if acked := x.r.Acked(); acked != x.r.Content() {
		uncounted = c.clock.Minus(acked)
	}
	own := x.untouched(c.names, uncounted)
	tries := 0
	for i := range c.keys {
		k := &c.keys[i]
		k.state, k.own = x.r.Store.View(c.names[i]), own[i]
		for _, o := range k.ops {
			o.Asked = c
			tries = max(tries, o.Tries)
		}
	}
	if tries >= eagerTries && !x.r.Now.Before(x.holdUntil) {
		x.holdBack(c)
	}
	x.comparing = c
	c.asked = x.sets.Choose([]quorum.Level{quorum.Majority}, tries > 0, x.r.ToRead)
	for _, p := range c.asked {
		x.ask(p)
	}
	x.at = x.r.Now.Add(x.r.Cfg.RetryInterval)
	x.checkComparison()
}

// holdBack asks for a rest of the keys, here too.
func (x *Linear) holdBack(c *comparison) {
	c.hold = min(holdTrips*x.trip+holdLeast, x.r.Cfg.RetryInterval)
	x.holdUntil = x.r.Now.Add(c.hold)
	for _, key := range c.names {
		x.freeze(key, c.hold)
	}
}

// untouched says of each key whether none of dots is an event of it. What the log does not tell is
// taken for one.
func (x *Linear) untouched(keys []string, dots *crdt.Clock) []bool {
	out := make([]bool, len(keys))
	for i := range out {
		out[i] = true
	}
	all := dots == nil || x.r.Store.Touched(dots, func(key string) {
		if i := slices.Index(keys, key); i >= 0 {
			out[i] = false
		}
	})
	if !all {
		clear(out)
	}
	return out
}

// ask asks a peer. The message has the part of the clock that the peer has not been told
// yet: mostly all peers have been told the same. If an earlier message was lost, the peer says so.
func (x *Linear) ask(p *replica.Peer) {
	c, l := x.comparing, p.Link(x.r.ID)
	if c.question == nil || c.told != l.Told {
		c.told, c.question = l.Told, &wire.Compare{
			Epoch: x.r.View.Epoch, Space: x.r.ID, ID: c.id, Hash: c.hash, More: c.without(l.Told),
			Hold: uint32(c.hold.Microseconds()), Keys: c.names,
		}
	}
	l.Told = c.clock
	x.r.Send(p, effect.Prompt, c.question)
}

// OnCompare answers with what counts at one side only. One that has not caught up does not answer
// (R4).
func (x *Linear) OnCompare(p *replica.Peer, msg *wire.Compare) {
	l := p.Link(x.r.ID)
	if !x.r.Answers() || msg.ID < l.TheirsID {
		return
	}
	l.TheirsID = msg.ID
	l.Theirs.Join(msg.More)
	if msg.Hold > 0 {
		for _, k := range msg.Keys {
			x.freeze(k, time.Duration(msg.Hold)*time.Microsecond)
		}
	}
	reply := &wire.Compared{Epoch: x.r.View.Epoch, Space: x.r.ID, ID: msg.ID}
	if l.Theirs.Hash() != msg.Hash { // something that was told is lost, or still on its way
		l.Theirs = crdt.Clock{}
		x.r.Send(p, effect.Prompt, reply)
		return
	}
	x.r.LearnContent(p, msg.More) // the rest of Theirs was learned before
	reply.Known = true
	if extra := x.r.Acked().Minus(&l.Theirs); !extra.Empty() {
		reply.Extra = extra
	}
	if lacks := l.Theirs.Minus(x.r.Acked()); !lacks.Empty() {
		reply.Lacks = lacks
	}
	for i, same := range x.untouched(msg.Keys, reply.Extra) {
		if !same {
			reply.Differ = append(reply.Differ, uint32(i))
		}
	}
	x.r.Send(p, effect.Prompt, reply)
}

// OnCompared takes a vote, and fetches what the voter has beyond this replica.
func (x *Linear) OnCompared(p *replica.Peer, msg *wire.Compared) {
	c := x.comparing
	if !msg.Known {
		p.Link(x.r.ID).Told = nil
	}
	if c == nil || msg.ID != c.id || msg.Epoch != x.r.View.Epoch || !slices.Contains(c.asked, p) {
		return // of an older question, or of an older view (R15)
	}
	at, voted := c.vote(p)
	if voted {
		return
	}
	if !msg.Known {
		if !slices.Contains(c.retold, p) {
			c.retold = append(c.retold, p)
			x.ask(p)
		}
		return
	}
	has := c.clock
	if msg.Lacks != nil {
		has = c.clock.Minus(msg.Lacks)
	}
	x.r.LearnAcked(p, has)
	v := vote{from: p, agrees: x.untouched(c.names, msg.Lacks)}
	v.lacks = slices.Contains(v.agrees, false)
	for _, i := range msg.Differ {
		if int(i) < len(v.agrees) {
			v.agrees[i] = false
		}
	}
	if msg.Extra != nil {
		x.r.LearnAcked(p, msg.Extra)
	}
	if msg.Extra != nil && len(msg.Differ) > 0 {
		x.gaps.Fetch(p, msg.Extra)
		if x.behind == nil {
			x.behind = &crdt.Clock{}
		}
		x.behind.Join(msg.Extra)
	}
	c.votes = slices.Insert(c.votes, at, v)
	x.checkComparison()
}

// checkComparison answers the reads of the keys on which a quorum agrees, and ends the question
// when there is no more to be had from it.
func (x *Linear) checkComparison() {
	c := x.comparing
	if c == nil {
		return
	}
	open, enough := 0, x.sets.MayAgree(quorum.Majority, len(c.votes)+1)
	for i := range c.keys {
		k := &c.keys[i]
		if !k.agreed && enough && x.sets.Agreed(quorum.Majority, func(p *replica.Peer) bool { return c.agrees(p, i) }) {
			k.agreed = true
			for _, o := range k.ops {
				x.ops.EndRead(o, k.state)
			}
		}
		if !k.agreed {
			open++
		}
	}
	switch {
	case open == 0 || len(c.votes) == len(c.asked):
		x.plan(x.giveUp())
	// others may make up for them
	case enough && x.sets.Agreed(quorum.Majority, c.voted):
		x.at = timer.Earliest(x.at, x.r.Now.Add(x.r.Cfg.GapDelay))
	}
}

// giveUp ends a comparison and returns the largest number of tries that one of its reads has had.
// The reads that it has not answered wait for the next comparison. After eagerTries tries, giveUp
// sends a peer that lacks something what it lacks: perhaps no other peer does.
func (x *Linear) giveUp() (tries int) {
	c := x.comparing
	x.comparing, x.trip = nil, x.r.Now.Sub(c.began)
	for i := range c.keys {
		for _, o := range c.keys[i].ops {
			if !o.Done() {
				o.Tries++
				tries = max(tries, o.Tries)
				x.linear = append(x.linear, o)
			}
		}
	}
	if tries >= eagerTries {
		for _, v := range c.votes {
			if v.lacks && x.r.Peer(v.from.ID) == v.from {
				x.gaps.Fill(v.from, v.from.Link(x.r.ID).Content)
			}
		}
	}
	return tries
}

// plan arms the next comparison: when what the last one missed is here, and after several
// vain ones not before a while has passed.
func (x *Linear) plan(tries int) {
	if len(x.linear) == 0 {
		x.at, x.from, x.behind = time.Time{}, time.Time{}, nil
		return
	}
	wait := time.Duration(0)
	switch {
	case tries <= eagerTries:
	case x.r.Now.Before(x.holdUntil):
		wait = x.trip/2 + holdLeast/8 // nothing new comes, only what is on its way
	default:
		wait = timer.Backoff(x.r.Cfg.GapDelay, x.r.Cfg.RetryInterval, tries-eagerTries-1)
	}
	x.from = x.r.Now.Add(wait)
	x.at = x.from
	if x.behind != nil && !x.r.Content().Includes(x.behind) {
		x.at = x.r.Now.Add(x.r.Cfg.RetryInterval)
	}
}

// Resume begins the next comparison as soon as what the last one missed has come.
func (x *Linear) Resume() {
	if x.comparing == nil && x.behind != nil && x.r.Content().Includes(x.behind) {
		x.behind, x.at = nil, x.from
		if !x.r.Now.Before(x.from) {
			x.compare()
		}
	}
}

// Hurry begins the next comparison at once: the own replica has committed what it did not
// count for in the last one.
func (x *Linear) Hurry() {
	if x.comparing == nil && len(x.linear) > 0 {
		x.at, x.from = x.r.Now, x.r.Now
	}
}

// Restart asks anew, because the quorums have changed.
func (x *Linear) Restart() {
	if x.comparing != nil || len(x.linear) > 0 {
		x.compare()
	}
}

// Take ends the comparison that is out, and takes away the waiting reads
// that satisfy goes.
func (x *Linear) Take(goes func(*operation.Op) bool) (taken []*operation.Op) {
	if x.comparing != nil {
		x.plan(x.giveUp())
	}
	x.linear, taken = operation.Split(x.linear, goes)
	return taken
}

// Drop forgets the reads; they have been answered.
func (x *Linear) Drop() { x.underway = underway{} }

// OnTime begins a comparison when it is time to.
func (x *Linear) OnTime() {
	if x.r.Due(&x.at) {
		x.compare()
	}
}

// Deadline is when to begin the next comparison, or to give one up; zero: never.
func (x *Linear) Deadline() time.Time { return x.at }

// Len returns how many reads wait for the next comparison, or for the one that is out.
func (x *Linear) Len() int {
	n := len(x.linear)
	if x.comparing != nil {
		for i := range x.comparing.keys {
			n += len(x.comparing.keys[i].ops)
		}
	}
	return n
}

// Check returns a broken invariant.
func (x *Linear) Check() error {
	switch c := x.comparing; {
	case c != nil && (len(c.votes) > len(c.asked) || x.at.IsZero()):
		return fmt.Errorf("a comparison with %d votes of %d asked, next at %v", len(c.votes), len(c.asked), x.at)
	case c == nil && len(x.linear) > 0 && x.at.IsZero():
		return fmt.Errorf("%d linearizable reads wait for nothing", len(x.linear))
	}
	return nil
}
