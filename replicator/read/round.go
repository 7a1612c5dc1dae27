package read

import (
	"cmp"
	"slices"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/operation"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/replica"
)

// round is one question to the replicas: what counts at your side? It serves all reads that began
// before it was sent. A read is answered when enough replicas have answered and the own content
// contains what each of them told; no value travels when nothing is missing.
type round struct {
	id    uint64
	ops   []*operation.Op // nil entries never
	learn bool            // instead of ops: the first catching up of this replica
	sent  bool            // no: it gathers reads while others are out
	tries int

	answers []answer    // by peer, one of each at most
	missing int         // how many of them tell of something that this replica lacks
	looked  *crdt.Clock // the own clock when they were looked at last
}

// answer is what a peer has told.
type answer struct {
	from  *replica.Peer
	extra *crdt.Clock // what the peer has that this replica may lack; nil: nothing is missing any more
}

// find returns where the answer of a peer stands, or would stand.
func (r *round) find(p *replica.Peer) (i int, ok bool) {
	return slices.BinarySearchFunc(r.answers, p, func(a answer, p *replica.Peer) int {
		return cmp.Compare(a.from.ID, p.ID)
	})
}

// answer returns that of a peer, nil if there is none.
func (r *round) answer(p *replica.Peer) *answer {
	i, ok := r.find(p)
	if !ok {
		return nil
	}
	return &r.answers[i]
}

// take takes the answer of a peer.
func (r *round) take(p *replica.Peer, extra *crdt.Clock) {
	i, ok := r.find(p)
	if !ok {
		r.answers = slices.Insert(r.answers, i, answer{from: p})
	}
	r.set(i, extra)
}

// set sets what is missing of an answer.
func (r *round) set(i int, extra *crdt.Clock) {
	a := &r.answers[i]
	if a.extra != nil {
		r.missing--
	}
	if a.extra = extra; extra != nil {
		r.missing++
	}
}

// look looks again at the answers of which something was missing, if the own clock has grown since it last did. There
// may be many, and each that comes has the others looked at.
func (r *round) look(own *crdt.Clock, grown bool) {
	if r.missing == 0 || own == r.looked && !grown {
		return
	}
	r.looked = own
	for i := range r.answers {
		if a := &r.answers[i]; a.extra != nil && own.Includes(a.extra) {
			r.set(i, nil)
		}
	}
}

// forgetMissing forgets the answers of which something is missing. For learning, what the content has waits for the
// disk only, and comes.
func (r *round) forgetMissing(has func(*crdt.Clock) bool) {
	r.answers = slices.DeleteFunc(r.answers, func(a answer) bool {
		forget := a.extra != nil && !(r.learn && has(a.extra))
		if forget {
			r.missing--
		}
		return forget
	})
}

// levels are those of the reads that it serves.
func (r *round) levels() []quorum.Level {
	var out []quorum.Level
	for _, o := range r.ops {
		if !slices.Contains(out, o.Level) {
			out = append(out, o.Level)
		}
	}
	return out
}
