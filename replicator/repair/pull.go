package repair

import (
	"time"

	"github.com/coterie-go/coterie/crdt"
)

// pull is a repair from one donor (R4). The clock, the names of live items and, when other ways
// have failed, the items come from one pinned moment of the donor. They are compared with one
// pinned moment of this replica.
//
//	asked ──head──► gathering ──difference found, items here──► checking ──adds up──► staged
//	  │                 │  ▲                                       │
//	  │                 │  └──── does not add up: another way ─────┘
//	  ├── refused, left, silent: another donor, what has come is kept
//	  └── no other donor: given up, gossip begins another
//
// Dots that only this replica's clock has stay as they are.
type pull struct {
	env   *Env
	from  crdt.Origin
	own   *crdt.Pinned
	asked *crdt.Clock // of own; empty: nothing that is here is trusted, all items are fetched
	union bool        // equal clocks and different digests: add, drop nothing (R5)
	since time.Time   // when the repair began, with this donor or another
	lost  []crdt.Origin

	clock  *crdt.Clock // of the donor's moment; nil: no head has come
	digest crdt.Digest
	items  uint64 // that the donor has

	q     questions
	diff  difference
	fetch fetch
	sums  digestCheck

	named  uint64    // dots that the donor has named
	at     time.Time // when to ask again, or at once when busy
	busy   bool      // there is something to do that waits for no answer
	tries  int       // questions in a row that brought nothing
	silent int       // looks in a row at which no part had moved either
	seen   Progress  // of the donor when it was looked at last
}

// Bounds of a repair, per step and side.
const (
	pullTries = 5 // how often a silent donor is asked to go on

	// BusyTries is how often a donor is asked that moves other messages, and brings nothing.
	BusyTries = 64
)

// newPull begins a repair. lost are the donors that did not help.
func newPull(env *Env, from crdt.Origin, since time.Time) *pull {
	p := &pull{env: env, from: from, own: env.Store.Pin(), since: since}
	p.q = questions{line: env.Line, session: env.Rand.Uint64() | 1, window: env.PieceWindow}
	p.fetch = fetch{env: env, q: &p.q, donor: from}
	p.seen = env.Host.Progress(from, p.q.session)
	return p
}

// ask asks the donor to begin.
func (p *pull) ask() {
	p.env.Line.Pull(p.from, p.q.session, p.asked)
	p.at = p.env.Host.RetryAt(p.tries)
}

// is reports whether a message belongs to this repair.
func (p *pull) is(from crdt.Origin, session uint64) bool {
	return p != nil && p.from == from && p.q.session == session
}

// begin takes what the donor has pinned. It reports whether the repair can go on: when a side has
// moved on, a union cannot tell lost items from removed ones. The next alarm tries again.
func (p *pull) begin(clock *crdt.Clock, digest crdt.Digest, items uint64) bool {
	p.clock, p.digest, p.items = clock, digest, items
	if p.union && !p.asked.Empty() && !p.clock.Equal(p.asked) {
		return false
	}
	p.fetch.rest, p.fetch.most = p.clock.Minus(p.asked), items
	p.diff = difference{env: p.env, q: &p.q, donor: p.from, own: p.own, theirs: items, within: p.clock.And(p.asked)}
	p.diff.begin()
	return true
}

// drive does what can be done now, and asks for what is missing. It reports whether all has been
// summed up: then the sum decides. A call does a bounded amount of work.
func (p *pull) drive() (ready bool) {
	p.at = p.env.Host.RetryAt(p.tries)
	found := p.diff.found
	if p.busy = p.diff.drive(); p.diff.found && !found {
		p.foundDiff()
	}
	p.fetch.drive(p.lost)
	return p.diff.found && p.fetch.complete() && p.checkDigest()
}

// foundDiff goes on after the search. A repair by union fetches what was lost here.
func (p *pull) foundDiff() {
	p.sums = digestCheck{}
	for _, kept := range p.diff.kept {
		if p.union {
			p.fetch.enqueue(clockOf(kept), true)
		} else {
			p.sums.rest = append(p.sums.rest, clockOf(kept))
		}
	}
}

// doubt looks for what is wrong with what does not add up: items that helpers have brought, or the
// difference, which can be found another way. It reports whether there is such a way.
func (p *pull) doubt() bool {
	p.busy = true
	switch {
	case p.fetch.distrust():
	case !p.diff.within.Empty() && p.diff.way != byRanges:
		p.diff.nextWay()
	default:
		return false
	}
	return true
}

// take uses an answer and reports whether it makes sense. An answer that does not cover all of the
// question must have brought something. So no replica can be kept asking without end.
func (p *pull) take(x *question, a Answer) bool {
	all := a.UpTo == (crdt.Dot{})
	dots, rest := x.dots, (*crdt.Clock)(nil)
	if !all {
		if !x.dots.Has(a.UpTo) || len(a.Items) == 0 && (a.Names == nil || a.Names.Empty()) {
			return false
		}
		dots, rest = x.dots.UpTo(a.UpTo), x.dots.After(a.UpTo)
	}
	switch x.aim {
	case aimItems, aimSpares:
		return p.fetch.take(x, dots, rest, a.Items)
	case aimNames, aimDiffNames:
		if a.Names == nil || !dots.Includes(a.Names) || !p.mayName(a.Names) {
			return false
		}
		if x.aim == aimNames {
			p.fetch.named(a.Names, rest)
		} else {
			p.diff.compareNames(dots, a.Names, rest)
		}
		return true
	case aimDiffSums:
		return all && p.diff.compareSums(x, a.Sums)
	}
	if !all || len(a.Sums) != 1 {
		return false
	}
	p.sums.kept = p.sums.kept.Plus(a.Sums[0])
	return true
}

// answered takes the question away to which an answer belongs. The first gift answers none.
func (p *pull) answered(from crdt.Origin, id uint32) *question {
	if id == 0 && from == p.from && !p.fetch.first {
		return &question{to: from, aim: aimItems, dots: p.fetch.rest}
	}
	return p.q.take(from, id)
}

// mayName reports whether a donor can have so many live dots: it has told how many items there are.
func (p *pull) mayName(names *crdt.Clock) bool {
	n := names.Len() // of origins that are over, more than any donor has
	if n > p.items {
		return false
	}
	p.named += n
	return p.named <= 2*p.items // once to fetch, once to compare
}

// underway reports whether a message in parts gets on that carries the question, or may carry the
// answer. Otherwise it counts a vain try. A part does not tell what it is a part of. So a message
// that comes counts only as long as it is the one of the last look. Each of them ends, but one can
// follow another without a pause, and none of them is the answer when the question was lost. A
// message that is on its way is not sent twice, so that asking too early costs little.
func (p *pull) underway() bool {
	now := p.env.Host.Progress(p.from, p.q.session)
	moves, same := now.Moved != p.seen.Moved, now.Coming == p.seen.Coming && now.Open
	p.seen = now
	if p.silent++; moves {
		p.silent = 0
		if same || now.Carries {
			return true
		}
	}
	p.tries++
	return false
}

// silentTooLong reports whether the donor has to be replaced.
func (p *pull) silentTooLong() bool { return p.silent > pullTries || p.tries > BusyTries }

// again repeats what has not been answered.
func (p *pull) again() {
	p.fetch.dropSilent()
	if !p.fetch.first {
		p.ask()
		return
	}
	p.diff.askAgain()
	p.q.again()
}

// staged is what has come and adds up.
func (p *pull) staged() *Staged {
	return &Staged{
		From: p.from, Clock: p.clock, Union: p.union, Since: p.since, Count: p.fetch.got, asked: p.asked,
		gone: p.diff.gone, fetch: p.fetch,
	}
}
