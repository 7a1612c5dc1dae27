package judge

import (
	"github.com/coterie-go/coterie/ddata/membership/singleton"
)

// Hosting is one stay of a shard of a type on a process.
type Hosting struct {
	Type  string
	Shard uint32
	Token singleton.FencingToken
}

// Counts are what was seen.
type Counts struct{ Records, Receipts, Snapshots, Deleted, Writers uint64 }

// Add sums the counts of runs.
func (c *Counts) Add(o Counts) {
	c.Records += o.Records
	c.Receipts += o.Receipts
	c.Snapshots += o.Snapshots
	c.Deleted += o.Deleted
	c.Writers += o.Writers
}

// Judge has all histories of a world.
type Judge struct {
	complain  func(check, format string, args ...any)
	histories map[Entity]*history // only looked up
	commands  map[uint64]Entity   // that are stored, at least in part; only looked up
	fences    map[place]singleton.FencingToken
	counts    Counts
}

// place is a shard of a type.
type place struct {
	typ   string
	shard uint32
}

// history is that of one entity.
//
// Invariant: sums has one more than records, the first for the empty history.
type history struct {
	records   []Record
	sums      []Sum
	over      map[uint64]bool // writers that another one has followed; only looked up
	snapshots map[uint64]bool // the numbers of all that were stored; only looked up
	deleted   uint64
	known     uint64 // the highest number of a receipt that was seen
}

// New makes a judge that complains to a function.
func New(complain func(check, format string, args ...any)) *Judge {
	return &Judge{
		complain: complain, histories: map[Entity]*history{}, commands: map[uint64]Entity{},
		fences: map[place]singleton.FencingToken{},
	}
}

// Counts are what was seen so far.
func (j *Judge) Counts() Counts { return j.counts }

func (j *Judge) of(e Entity) *history {
	h := j.histories[e]
	if h == nil {
		h = &history{sums: []Sum{0}, over: map[uint64]bool{}, snapshots: map[uint64]bool{}}
		j.histories[e] = h
	}
	return h
}

// Fenced notes that a hosting was told that it has begun.
func (j *Judge) Fenced(h Hosting) {
	if at := (place{h.Type, h.Shard}); j.fences[at].Less(h.Token) {
		j.fences[at] = h.Token
	}
}

// Stored judges a record that the store has now as the one with a number.
func (j *Judge) Stored(by Hosting, id string, seq uint64, r Record) {
	e := Entity{by.Type, id}
	h := j.of(e)
	if fence := j.fences[place{by.Type, by.Shard}]; by.Token.Less(fence) {
		j.complain("no write after the fence", "%v: number %d is stored for %v after %v", e, seq, by.Token, fence)
	}
	if next := uint64(len(h.records)) + 1; seq != next {
		j.complain("one history", "%v: number %d is stored after %d", e, seq, next-1)
		return
	}
	if h.over[r.Writer] {
		j.complain("one history", "%v: writer %d writes number %d, and another one has written since it did",
			e, r.Writer, seq)
	}
	if sum := h.sums[seq-1]; r.Before != sum {
		j.complain("one history", "%v: number %d, of command %d, was made for another history", e, seq, r.Command)
	}
	j.once(e, h, r)
	if n := len(h.records); n == 0 || h.records[n-1].Writer != r.Writer {
		j.counts.Writers++
		if n > 0 {
			h.over[h.records[n-1].Writer] = true
		}
	}
	h.records, h.sums = append(h.records, r), append(h.sums, h.sums[seq-1].Next(r))
	j.counts.Records++
}

// once judges the place of a record among those of its command.
func (j *Judge) once(e Entity, h *history, r Record) {
	if was, stored := j.commands[r.Command]; stored && (was != e || r.Part == 0) {
		j.complain("stored once", "command %d stands in %v, and again in %v", r.Command, was, e)
	}
	j.commands[r.Command] = e
	open := uint64(0) // the part that comes next
	if n := len(h.records); n > 0 {
		if last := h.records[n-1]; last.Part+1 < last.Parts {
			open = last.Part + 1
			if last.Command != r.Command {
				j.complain("a write is stored whole", "%v: command %d has %d of %d parts, then comes command %d",
					e, last.Command, open, last.Parts, r.Command)
				return
			}
		}
	}
	if r.Part != open {
		j.complain("a write is stored whole", "%v: part %d of command %d comes, want part %d",
			e, r.Part, r.Command, open)
	}
}

// Saved judges a snapshot that the store has now: after so many records, with their sum.
func (j *Judge) Saved(e Entity, seq uint64, sum Sum) {
	h := j.of(e)
	switch {
	case seq >= uint64(len(h.sums)):
		j.complain("snapshots are of stored events", "%v: one after %d is stored, the history ends with %d",
			e, seq, len(h.records))
	case h.sums[seq] != sum:
		j.complain("snapshots are of stored events", "%v: that after %d is of another history", e, seq)
	}
	h.snapshots[seq] = true
	j.counts.Snapshots++
}

// Deleted judges that records were deleted up to a number.
func (j *Judge) Deleted(e Entity, upTo uint64) {
	h := j.of(e)
	if upTo > h.deleted && !h.snapshots[upTo] {
		j.complain("a snapshot before a deletion", "%v: events up to %d are deleted, and no snapshot was stored there",
			e, upTo)
	}
	if upTo > h.deleted {
		j.counts.Deleted++
	}
	h.deleted = max(h.deleted, upTo)
}
