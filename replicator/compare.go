package replicator

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/quorum"
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

// compares are the linearizable reads of one space.
type compares struct {
	linear      []*op         // those that wait for the next comparison
	comparing   *comparison   // the one that is out, nil: none
	compareAt   time.Time     // when to begin the next one, or to give this one up
	compareFrom time.Time     // not earlier than this, whatever comes
	behind      *crdt.Clock   // what the last one found missing here; nil: nothing
	holdUntil   time.Time     // until then updates are held back
	trip        time.Duration // how long the last one took
}

// comparison is one such question, for all reads that began before it.
//
//	asked ──a quorum agrees──► answered
//	  └──── it does not, or it does not answer in time ────► the next one, of all, after a while
type comparison struct {
	id    uint64
	clock *crdt.Clock // the own content when it was asked
	hash  [16]byte    // of clock
	began time.Time
	hold  time.Duration
	keys  []comparedKey
	asked []*peer
	votes []vote

	retold []*peer // the peers that have been told the whole clock
}

// comparedKey is one key's part of a comparison.
type comparedKey struct {
	key    string
	state  crdt.Reader // pinned when it was asked
	own    bool        // all events of it count at the own replica
	ops    []*op
	agreed bool
}

// vote is what one peer said: agrees has an entry per key.
type vote struct {
	from   *peer
	agrees []bool
	lacks  bool // some event of the keys
}

// comparedMax bounds the keys of one comparison; more wait for the next one. Their names must fit
// half a frame.
const comparedMax = 64

// Comparisons follow each other at once up to eagerTries. Then the voters are asked to hold updates
// of the key back for a few round trips, so that writers do not starve readers: what is on its way
// comes to rest. If that was not enough, later ones wait, ever longer, up to RetryInterval.
const (
	eagerTries = 3
	holdTrips  = 4
	holdLeast  = time.Millisecond
)

// compareLater lets a linearizable read wait for the next comparison.
func (s *space) compareLater(o *op) {
	s.linear = append(s.linear, o)
	if s.comparing == nil && s.compareAt.IsZero() {
		s.compare()
	}
}

// compare begins a comparison of the keys that are waited for. One that is still out has taken too
// long, or has to be asked anew.
func (s *space) compare() {
	s.compareAt, s.compareFrom = zeroTime, zeroTime
	if s.comparing != nil {
		s.giveUp()
	}
	s.behind = nil
	if s.linear = slices.DeleteFunc(s.linear, (*op).done); len(s.linear) == 0 {
		return
	}
	s.roundID++
	c := &comparison{id: s.roundID, clock: s.content().Clone(), hash: s.contentHash(), began: s.m.now}
	s.linear = c.take(s.linear, s.m.cfg.FrameMax/2)
	own := s.untouched(c, c.clock.Minus(s.acked()))
	tries := 0
	for i := range c.keys {
		k := &c.keys[i]
		k.state, k.own = s.store.View(k.key), own[i]
		for _, o := range k.ops {
			o.asked = c
			tries = max(tries, o.tries)
		}
	}
	if tries >= eagerTries && !s.m.now.Before(s.holdUntil) {
		s.holdBack(c)
	}
	s.comparing = c
	c.asked = s.sets.Choose([]quorum.Level{quorum.Majority}, tries > 0, s.m.toRead)
	for _, p := range c.asked {
		s.sendCompare(p)
	}
	s.compareAt = s.m.now.Add(s.m.cfg.RetryInterval)
	s.checkComparison()
}

// holdBack asks for a rest of the keys, here too.
func (s *space) holdBack(c *comparison) {
	c.hold = min(holdTrips*s.trip+holdLeast, s.m.cfg.RetryInterval)
	s.holdUntil = s.m.now.Add(c.hold)
	for i := range c.keys {
		s.freeze(c.keys[i].key, c.hold)
	}
}

// take sorts operations by their keys, as far as there is room, and returns the others.
func (c *comparison) take(ops []*op, bytes int) (rest []*op) {
	for _, o := range ops {
		i := slices.IndexFunc(c.keys, func(k comparedKey) bool { return k.key == o.key })
		if i < 0 {
			if bytes -= len(o.key) + 8; len(c.keys) == comparedMax || bytes < 0 && len(c.keys) > 0 {
				rest = append(rest, o)
				continue
			}
			i = len(c.keys)
			c.keys = append(c.keys, comparedKey{key: o.key})
		}
		c.keys[i].ops = append(c.keys[i].ops, o)
	}
	return rest
}

// untouched says of each key whether none of dots is an event of it. What the log does not tell is
// taken for one.
func (s *space) untouched(c *comparison, dots *crdt.Clock) []bool {
	out := make([]bool, len(c.keys))
	for i := range out {
		out[i] = true
	}
	all := dots == nil || s.store.Touched(dots, func(key string) {
		if i := slices.IndexFunc(c.keys, func(k comparedKey) bool { return k.key == key }); i >= 0 {
			out[i] = false
		}
	})
	if !all {
		clear(out)
	}
	return out
}

// sendCompare asks a peer. The message has the part of the clock that the peer has not been told
// yet. If an earlier message was lost, the peer says so.
func (s *space) sendCompare(p *peer) {
	c, l := s.comparing, p.link(s)
	msg := &Compare{Epoch: s.m.view.Epoch, Space: s.id, ID: c.id, Hash: c.hash, More: c.clock, Hold: uint32(c.hold.Microseconds())}
	if l.told != nil {
		msg.More = c.clock.Minus(l.told)
	}
	l.told = c.clock
	for i := range c.keys {
		msg.Keys = append(msg.Keys, c.keys[i].key)
	}
	s.m.send(p, Prompt, msg)
}

// onCompare answers with what counts at one side only. One that has not caught up does not answer
// (R4).
func (s *space) onCompare(p *peer, msg *Compare) {
	l := p.link(s)
	if !s.answers() || msg.ID < l.theirsID {
		return
	}
	l.theirsID = msg.ID
	l.theirs.Join(msg.More)
	if msg.Hold > 0 {
		for _, k := range msg.Keys {
			s.freeze(k, time.Duration(msg.Hold)*time.Microsecond)
		}
	}
	reply := &Compared{Epoch: s.m.view.Epoch, Space: s.id, ID: msg.ID}
	if l.theirs.Hash() != msg.Hash { // something that was told is lost, or still on its way
		l.theirs = crdt.Clock{}
		s.m.send(p, Prompt, reply)
		return
	}
	s.learnContent(p, &l.theirs)
	reply.Known = true
	if extra := s.acked().Minus(&l.theirs); !extra.Empty() {
		reply.Extra = extra
	}
	if lacks := l.theirs.Minus(s.acked()); !lacks.Empty() {
		reply.Lacks = lacks
	}
	at := comparison{}
	for _, k := range msg.Keys {
		at.keys = append(at.keys, comparedKey{key: k})
	}
	for i, same := range s.untouched(&at, reply.Extra) {
		if !same {
			reply.Differ = append(reply.Differ, uint32(i))
		}
	}
	s.m.send(p, Prompt, reply)
}

// onCompared takes a vote, and fetches what the voter has beyond this replica.
func (s *space) onCompared(p *peer, msg *Compared) {
	c := s.comparing
	if !msg.Known {
		p.link(s).told = nil
	}
	if c == nil || msg.ID != c.id || msg.Epoch != s.m.view.Epoch || !slices.Contains(c.asked, p) || c.voted(p) {
		return // of an older question, or of an older view (V7)
	}
	if !msg.Known {
		if !slices.Contains(c.retold, p) {
			c.retold = append(c.retold, p)
			s.sendCompare(p)
		}
		return
	}
	has := c.clock
	if msg.Lacks != nil {
		has = c.clock.Minus(msg.Lacks)
	}
	s.learnAcked(p, has)
	v := vote{from: p, agrees: s.untouched(c, msg.Lacks)}
	v.lacks = slices.Contains(v.agrees, false)
	for _, i := range msg.Differ {
		if int(i) < len(v.agrees) {
			v.agrees[i] = false
		}
	}
	if msg.Extra != nil {
		s.learnAcked(p, msg.Extra)
	}
	if msg.Extra != nil && len(msg.Differ) > 0 {
		s.fetch(p, msg.Extra)
		if s.behind == nil {
			s.behind = &crdt.Clock{}
		}
		s.behind.Join(msg.Extra)
	}
	c.votes = append(c.votes, v)
	s.checkComparison()
}

func (c *comparison) voted(p *peer) bool {
	return slices.ContainsFunc(c.votes, func(v vote) bool { return v.from == p })
}

// agrees reports whether a replica, the own one as nil, holds the same state of the i-th key.
func (c *comparison) agrees(p *peer, i int) bool {
	if p == nil {
		return c.keys[i].own
	}
	return slices.ContainsFunc(c.votes, func(v vote) bool { return v.from == p && v.agrees[i] })
}

// checkComparison answers the reads of the keys on which a quorum agrees, and ends the question
// when there is no more to be had from it.
func (s *space) checkComparison() {
	c := s.comparing
	if c == nil {
		return
	}
	open := 0
	for i := range c.keys {
		k := &c.keys[i]
		if !k.agreed && s.sets.Agreed(quorum.Majority, func(p *peer) bool { return c.agrees(p, i) }) {
			k.agreed = true
			for _, o := range k.ops {
				s.m.endRead(o, k.state)
			}
		}
		if !k.agreed {
			open++
		}
	}
	switch {
	case open == 0 || len(c.votes) == len(c.asked):
		s.compareSoon(s.giveUp())
	case s.sets.Agreed(quorum.Majority, func(p *peer) bool { return p == nil || c.voted(p) }): // others may make up for them
		s.compareAt = earlier(s.compareAt, s.m.now.Add(s.m.cfg.GapDelay))
	}
}

// giveUp ends a comparison and returns the largest number of tries that one of its reads has had.
// The reads that it has not answered wait for the next comparison. After eagerTries tries, giveUp
// sends a peer that lacks something what it lacks: perhaps no other peer does.
func (s *space) giveUp() (tries int) {
	c := s.comparing
	s.comparing, s.trip = nil, s.m.now.Sub(c.began)
	for i := range c.keys {
		for _, o := range c.keys[i].ops {
			if !o.done() {
				o.tries++
				tries = max(tries, o.tries)
				s.linear = append(s.linear, o)
			}
		}
	}
	if tries >= eagerTries {
		for _, v := range c.votes {
			if v.lacks && s.m.peer(v.from.id) == v.from {
				s.fill(v.from, v.from.link(s).content)
			}
		}
	}
	return tries
}

// compareSoon arms the next comparison: when what the last one missed is here, and after several
// vain ones not before a while has passed.
func (s *space) compareSoon(tries int) {
	if len(s.linear) == 0 {
		s.compareAt, s.compareFrom, s.behind = zeroTime, zeroTime, nil
		return
	}
	wait := time.Duration(0)
	switch {
	case tries <= eagerTries:
	case s.m.now.Before(s.holdUntil):
		wait = s.trip/2 + holdLeast/8 // nothing new comes, only what is on its way
	default:
		wait = min(s.m.cfg.GapDelay<<min(tries-eagerTries-1, 16), s.m.cfg.RetryInterval)
	}
	s.compareFrom = s.m.now.Add(wait)
	s.compareAt = s.compareFrom
	if s.behind != nil && !s.content().Includes(s.behind) {
		s.compareAt = s.m.now.Add(s.m.cfg.RetryInterval)
	}
}

// compareWhenHere begins the next comparison as soon as what the last one missed has come.
func (s *space) compareWhenHere() {
	if s.comparing == nil && s.behind != nil && s.content().Includes(s.behind) {
		s.behind, s.compareAt = nil, s.compareFrom
		if !s.m.now.Before(s.compareFrom) {
			s.compare()
		}
	}
}

// compareNow begins the next comparison at once: the own replica has committed what it did not
// count for in the last one.
func (s *space) compareNow() {
	if s.comparing == nil && len(s.linear) > 0 {
		s.compareAt, s.compareFrom = s.m.now, s.m.now
	}
}

// restartCompare asks anew, because the quorums have changed.
func (s *space) restartCompare() {
	if s.comparing != nil || len(s.linear) > 0 {
		s.compare()
	}
}

// agreed reports whether a peer agreed when a linearizable read was compared last.
func (o *op) agreed(p *peer) bool {
	if o.asked == nil {
		return false
	}
	i := slices.IndexFunc(o.asked.keys, func(k comparedKey) bool { return k.key == o.key })
	return i >= 0 && o.asked.agrees(p, i)
}
