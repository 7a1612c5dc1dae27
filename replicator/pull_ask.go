package replicator

import (
	"slices"

	"github.com/coterie-go/coterie/crdt"
)

// ask is one question of a repair that is not answered yet.
type ask struct {
	id    uint32
	to    *peer
	aim   aim
	dots  *crdt.Clock   // asked about
	sizes []uint64      // of the runs of dots, but the last
	sums  []crdt.Digest // of what is alive here in each run, to compare
}

// aim is what an answer is for.
type aim uint8

const (
	aimItems     aim = iota // to stage them
	aimSpares               // to stage them, from a helper
	aimNames                // to know which items to fetch
	aimDiffSums             // to find the runs in which live dots differ
	aimDiffNames            // to find the live dots that differ
	aimKeptSum              // to weigh what is alive there and was removed here
)

// whatFor is what is asked for, by aim.
var whatFor = [...]ItemKind{aimItems: KindItems, aimSpares: KindSpares, aimNames: KindNames, aimDiffSums: KindSums, aimDiffNames: KindNames, aimKeptSum: KindSums}

// ask asks a peer about dots.
func (s *space) ask(to *peer, aim aim, dots *crdt.Clock) *ask {
	p := s.pull
	p.lastID++
	a := &ask{id: p.lastID, to: to, aim: aim, dots: dots}
	p.asks = append(p.asks, a)
	return a
}

// sendAsk sends the question, for the first time or again.
func (s *space) sendAsk(a *ask) {
	s.m.send(a.to, Prompt, &FetchItems{
		Epoch: s.m.view.Epoch, Space: s.id, Session: s.pull.session, ID: a.id, Kind: whatFor[a.aim], Dots: a.dots, Sizes: a.sizes,
	})
}

// out counts the unanswered questions to a peer.
func (p *pull) out(to *peer) int {
	n := 0
	for _, a := range p.asks {
		if a.to == to {
			n++
		}
	}
	return n
}

// asking reports whether there is a question with one of these aims.
func (p *pull) asking(aims ...aim) bool {
	return slices.ContainsFunc(p.asks, func(a *ask) bool { return slices.Contains(aims, a.aim) })
}

// mayPull reports whether one more question to a peer may be out.
func (s *space) mayPull(to *peer) bool { return s.pull.out(to) < s.m.cfg.PieceWindow }

// onItems takes an answer.
func (s *space) onItems(from *peer, msg *Items) {
	p := s.pull
	if p == nil || p.clock == nil || p.session != msg.Session {
		return
	}
	a := p.answered(from, msg.ID)
	if a == nil {
		return // of a question that was answered, or withdrawn
	}
	switch {
	case s.take(a, msg):
		s.progress()
	case from == p.from:
		s.malformedPull()
	default:
		s.m.malformed(from)
		p.asks = append(p.asks, a)
		s.dropHelper(from)
		s.drivePull()
	}
}

// answered takes the question away to which an answer belongs. The first gift answers none.
func (p *pull) answered(from *peer, id uint32) *ask {
	if id == 0 && from == p.from && !p.fetch.first {
		return &ask{to: from, aim: aimItems, dots: p.fetch.rest}
	}
	i := slices.IndexFunc(p.asks, func(a *ask) bool { return a.id == id && a.to == from })
	if i < 0 {
		return nil
	}
	a := p.asks[i]
	p.asks = slices.Delete(p.asks, i, i+1)
	return a
}

// take uses an answer and reports whether it makes sense. An answer that does not cover all of the
// question must have brought something. So no replica can be kept asking without end.
func (s *space) take(a *ask, msg *Items) bool {
	all := msg.UpTo == (crdt.Dot{})
	dots, rest := a.dots, (*crdt.Clock)(nil)
	if !all {
		if !a.dots.Has(msg.UpTo) || len(msg.Items) == 0 && (msg.Names == nil || msg.Names.Empty()) {
			return false
		}
		dots, rest = a.dots.UpTo(msg.UpTo), a.dots.After(msg.UpTo)
	}
	p := s.pull
	switch a.aim {
	case aimItems, aimSpares:
		return p.takeItems(s, a, dots, rest, msg.Items)
	case aimNames, aimDiffNames:
		if msg.Names == nil || !dots.Includes(msg.Names) || !p.mayName(msg.Names) {
			return false
		}
		if a.aim == aimNames {
			p.fetch.named(s, msg.Names, rest)
		} else {
			s.compareNames(dots, msg.Names, rest)
		}
		return true
	case aimDiffSums:
		return all && p.diff.compareSums(a, msg.Sums)
	}
	if !all || len(msg.Sums) != 1 {
		return false
	}
	p.sums.kept = p.sums.kept.Plus(msg.Sums[0])
	return true
}

// mayName reports whether a donor can have so many live dots: it has told how many items there are.
func (p *pull) mayName(names *crdt.Clock) bool {
	n := names.Len()
	if n > p.items {
		return false
	}
	p.named += n
	return p.named <= 2*p.items // once to fetch, once to compare
}
