package repair

import (
	"slices"

	"github.com/coterie-go/coterie/crdt"
)

// questions are those of one repair that are not answered yet.
type questions struct {
	line    Line
	session uint64
	window  int // questions that are out to one replica
	open    []*question
	lastID  uint32
}

type question struct {
	id    uint32
	to    crdt.Origin
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
var whatFor = [...]Kind{
	aimItems: KindItems, aimSpares: KindSpares, aimNames: KindNames, aimDiffSums: KindSums,
	aimDiffNames: KindNames, aimKeptSum: KindSums,
}

// ask asks a peer about dots; to compare runs of them, with their sizes and own sums.
func (q *questions) ask(to crdt.Origin, aim aim, dots *crdt.Clock, sizes []uint64, sums []crdt.Digest) {
	q.lastID++
	x := &question{id: q.lastID, to: to, aim: aim, dots: dots, sizes: sizes, sums: sums}
	q.open = append(q.open, x)
	q.send(x)
}

func (q *questions) send(x *question) {
	q.line.Ask(x.to, q.session, x.id, whatFor[x.aim], x.dots, x.sizes)
}

// again repeats all of them.
func (q *questions) again() {
	for _, x := range q.open {
		q.send(x)
	}
}

// out counts the unanswered questions to a peer.
func (q *questions) out(to crdt.Origin) int {
	n := 0
	for _, x := range q.open {
		if x.to == to {
			n++
		}
	}
	return n
}

// room reports whether one more question to a peer may be out.
func (q *questions) room(to crdt.Origin) bool { return q.out(to) < q.window }

// asking reports whether there is a question with one of these aims.
func (q *questions) asking(aims ...aim) bool {
	return slices.ContainsFunc(q.open, func(x *question) bool { return slices.Contains(aims, x.aim) })
}

// take takes the question away to which an answer belongs, nil if there is none.
func (q *questions) take(from crdt.Origin, id uint32) *question {
	i := slices.IndexFunc(q.open, func(x *question) bool { return x.id == id && x.to == from })
	if i < 0 {
		return nil
	}
	x := q.open[i]
	q.open = slices.Delete(q.open, i, i+1)
	return x
}

// putBack enters a question again whose answer made no sense.
func (q *questions) putBack(x *question) { q.open = append(q.open, x) }

// withdraw drops the questions to a peer, and hands the dots of each to drop.
func (q *questions) withdraw(to crdt.Origin, drop func(dots *crdt.Clock)) {
	q.open = slices.DeleteFunc(q.open, func(x *question) bool {
		if x.to == to {
			drop(x.dots)
		}
		return x.to == to
	})
}
