package replicator

import (
	"cmp"
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// round is one question to the replicas: what counts at your side? It serves all reads that began
// before it was sent. A read is answered when enough replicas have answered and the own content
// contains what each of them told; no value travels when nothing is missing.
type round struct {
	id      uint64
	ops     []*op // nil entries never
	learn   bool  // instead of ops: the first catching up of this replica
	sent    bool  // no: it gathers reads while others are out
	answers []answer
	tries   int
}

// answer is what one peer has told.
type answer struct {
	from  *peer
	extra *crdt.Clock // what the peer has and this replica may lack; nil: nothing is missing any more
}

// roundsMax bounds the rounds that are out; the reads of one that is not out yet share it.
const roundsMax = 4

func (m *Machine) onGet(in Get) {
	s := m.spaces[m.SpaceOf(in.Key)]
	if err := crdt.CheckKey(in.Key); err != nil {
		m.reply(in.ID, err)
		return
	}
	if in.Read == quorum.Local {
		m.replyReader(in.ID, s.store.View(in.Key))
		return
	}
	if err := m.mayAsk(in.Read); err != nil {
		m.reply(in.ID, err)
		return
	}
	if !m.serves {
		m.reply(in.ID, ErrLearner)
		return
	}
	if in.Read == quorum.Linearizable && m.cfg.Defects.ReadWithoutAgreement {
		in.Read = quorum.Majority
	}
	o := &op{id: in.ID, key: in.Key, level: in.Read, s: s, read: true}
	if in.Read == quorum.Linearizable {
		m.begin(o, in.Timeout)
		s.compareLater(o)
		return
	}
	s.beginRead(o, in.Timeout)
}

// beginRead begins a quorum read.
func (s *space) beginRead(o *op, timeout time.Duration) {
	s.m.begin(o, timeout)
	r := s.openRound()
	r.ops = append(r.ops, o)
	if !r.sent && s.roundsOut() < roundsMax {
		s.askRound(r)
	}
	s.checkRound(r)
	s.dropRounds()
}

// openRound returns the round that has not been sent, a new one when there is none.
func (s *space) openRound() *round {
	if n := len(s.rounds); n > 0 && !s.rounds[n-1].sent {
		return s.rounds[n-1]
	}
	s.roundID++
	r := &round{id: s.roundID}
	s.rounds = append(s.rounds, r)
	return r
}

func (s *space) roundsOut() int {
	n := 0
	for _, r := range s.rounds {
		if r.sent {
			n++
		}
	}
	return n
}

// askRound sends the question to as many as are needed and one more; to all when that has been
// tried for RetryInterval.
func (s *space) askRound(r *round) {
	r.sent = true
	for _, p := range s.sets.Choose(r.levels(), r.tries > 0 || r.learn, s.m.toRead) {
		if !slices.ContainsFunc(r.answers, func(a answer) bool { return a.from == p }) {
			s.m.send(p, Prompt, &Ask{Epoch: s.m.view.Epoch, Space: s.id, ID: r.id, Hash: s.contentHash()})
		}
	}
	s.roundAt = earlier(s.roundAt, s.m.now.Add(s.m.backoff(r.tries)))
}

// levels are those of the reads that it serves.
func (r *round) levels() []quorum.Level {
	var out []quorum.Level
	for _, o := range r.ops {
		if !slices.Contains(out, o.level) {
			out = append(out, o.level)
		}
	}
	return out
}

// toRead returns the peers in the order in which reads ask them.
func (m *Machine) toRead(ps []*peer) []*peer { return m.favoured(ps, m.cfg.PreferOldest) }

// favoured returns the peers with the reachable first, then by age or in random order.
func (m *Machine) favoured(ps []*peer, byAge bool) []*peer {
	out := slices.Clone(ps)
	m.rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	slices.SortStableFunc(out, func(a, b *peer) int {
		if c := cmp.Compare(rankOf(a), rankOf(b)); c != 0 || !byAge {
			return c
		}
		return cmp.Or(cmp.Compare(a.up, b.up), cmp.Compare(a.id, b.id))
	})
	return out
}

func rankOf(p *peer) int {
	if p.reachable {
		return 0
	}
	return 1
}

// onAsk answers with what counts here and the asker may lack. One that has not caught up does not
// answer (R4).
func (s *space) onAsk(p *peer, ask *Ask) {
	if !s.answers() {
		return
	}
	reply := &Answer{Epoch: s.m.view.Epoch, Space: s.id, ID: ask.ID}
	if ask.Hash == s.contentHash() {
		s.learnContent(p, s.content())
	} else {
		reply.Extra = s.acked().Minus(p.link(s).content)
	}
	s.m.send(p, Prompt, reply)
}

// onAnswer takes a peer's clock, and fetches from the peer what is missing.
func (s *space) onAnswer(p *peer, a *Answer) {
	if a.Extra != nil {
		s.learnAcked(p, a.Extra)
	}
	if a.Epoch != s.m.view.Epoch {
		return // the round is asked again when the epoch is the same for both (V7)
	}
	i := slices.IndexFunc(s.rounds, func(r *round) bool { return r.id == a.ID })
	if i < 0 {
		return
	}
	r := s.rounds[i]
	extra := a.Extra
	if extra != nil && s.has(r, extra) {
		extra = nil
	}
	r.answers = slices.DeleteFunc(r.answers, func(x answer) bool { return x.from == p })
	r.answers = append(r.answers, answer{from: p, extra: extra})
	if extra != nil {
		s.fetch(p, extra)
	}
	s.checkRound(r)
	s.dropRounds()
}

// has reports whether a peer's clock is contained here. Learning wants it on disk as well.
func (s *space) has(r *round, extra *crdt.Clock) bool {
	if r.learn {
		return s.committed().Includes(extra)
	}
	return s.content().Includes(extra)
}

// fetch asks a peer for what the peer has and is neither here nor already asked for.
func (s *space) fetch(p *peer, extra *crdt.Clock) {
	if s.puller.Running() {
		return // the repair that is running brings it, or the next try does
	}
	missing := extra.Minus(s.content()).Minus(&s.wanted)
	if missing.Empty() {
		return
	}
	s.wanted.Join(missing)
	s.m.send(p, Prompt, &Fetch{Epoch: s.m.view.Epoch, Space: s.id, Dots: missing})
}

// checkRounds answers the reads whose clocks are contained by now.
func (s *space) checkRounds() {
	if len(s.rounds) == 0 {
		return
	}
	for _, r := range s.rounds {
		s.checkRound(r)
	}
	s.dropRounds()
}

func (s *space) checkRound(r *round) {
	for i, a := range r.answers {
		if a.extra != nil && s.has(r, a.extra) {
			r.answers[i].extra = nil
		}
	}
	answered := func(p *peer) bool { return s.answered(r, p) }
	if r.learn {
		s.learned = s.learned || s.sets.Taught(answered)
		return
	}
	keep := r.ops[:0]
	for _, o := range r.ops {
		if !o.done() && s.sets.Agreed(o.level, answered) {
			s.m.end(o, nil)
		}
		if !o.done() {
			keep = append(keep, o)
		}
	}
	clear(r.ops[len(keep):])
	r.ops = keep
}

// answered reports whether what a peer has told is contained here by now. The own replica is asked
// as nil.
func (s *space) answered(r *round, p *peer) bool {
	return p == nil || slices.ContainsFunc(r.answers, func(a answer) bool {
		return a.from == p && (a.extra == nil || !r.learn && s.m.cfg.Defects.ReadWithoutCatchUp)
	})
}

// roundOf is the round that serves a read.
func (s *space) roundOf(o *op) *round {
	i := slices.IndexFunc(s.rounds, func(r *round) bool { return slices.Contains(r.ops, o) })
	if i < 0 {
		return &round{}
	}
	return s.rounds[i]
}

// dropRounds forgets the rounds that serve no read any more, and sends the one that waited for a
// place.
func (s *space) dropRounds() {
	s.rounds = slices.DeleteFunc(s.rounds, func(r *round) bool { return len(r.ops) == 0 && (!r.learn || s.learned) })
	if n := len(s.rounds); n > 0 && !s.rounds[n-1].sent && s.roundsOut() < roundsMax {
		s.askRound(s.rounds[n-1])
	}
	if len(s.rounds)+len(s.goals) == 0 {
		s.roundAt, s.wanted = zeroTime, crdt.Clock{}
	}
}

// retryRounds asks again. It asks all peers now, also a peer whose answer is not contained yet:
// when the only peer that holds a dot dies, another peer's clock takes the place of its clock.
func (s *space) retryRounds() {
	s.wanted = crdt.Clock{}
	for _, r := range s.rounds {
		for _, o := range r.ops {
			if o.done() { // it has timed out
				r.ops = slices.DeleteFunc(r.ops, (*op).done)
				break
			}
		}
	}
	s.dropRounds()
	for _, r := range s.rounds {
		if r.sent {
			r.tries++
			r.answers = slices.DeleteFunc(r.answers, func(a answer) bool { return a.extra != nil })
			s.askRound(r)
		}
	}
	if len(s.goals) > 0 {
		s.goals = slices.DeleteFunc(s.goals, (*op).done)
	}
	if len(s.goals) > 0 {
		s.m.askAll()
		s.roundAt = earlier(s.roundAt, s.m.now.Add(s.m.cfg.RetryInterval))
	}
}

// restartRounds asks everything again. Under a new view, answers given under an older one do not
// count (V7). When a view is settled, the older ones need not answer any more. But a peer that has
// answered may have had none of their content then. The question gets a new number, so that late
// answers to the old one are not taken for answers to it.
func (s *space) restartRounds() {
	for _, r := range s.rounds {
		if r.sent {
			s.roundID++
			r.id, r.answers, r.tries = s.roundID, nil, 0
			s.askRound(r)
		}
	}
	s.checkRounds()
	s.restartCompare()
}
