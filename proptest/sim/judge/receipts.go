package judge

// Question is what was known of an entity when it was asked something.
type Question struct {
	entity  Entity
	command uint64
	stores  bool
	known   uint64
}

// Asks notes a question. stores says that its reply stands for records of its own.
func (j *Judge) Asks(e Entity, command uint64, stores bool) Question {
	return Question{e, command, stores, j.of(e).known}
}

// Replies judges a receipt that an entity is about to send.
func (j *Judge) Replies(e Entity, r Receipt, stores bool) {
	h := j.of(e)
	if r.Seq >= uint64(len(h.sums)) {
		j.complain("replies come after commits", "%v replies to %d by its number %d, and the store has %d",
			e, r.Command, r.Seq, len(h.records))
		return
	}
	if h.sums[r.Seq] != r.Sum {
		j.complain("a reply is the fold of its history", "%v replies to %d by its number %d of another history",
			e, r.Command, r.Seq)
	}
	if !stores {
		return
	}
	if last := h.last(r.Seq); last.Command != r.Command || last.Part+1 != last.Parts {
		j.complain("replies come after commits",
			"%v replies to %d by its number %d, which is not the last of that command", e, r.Command, r.Seq)
	}
}

// last is the last of the first records; none has the number 0.
func (h *history) last(seq uint64) Record {
	if seq == 0 {
		return Record{}
	}
	return h.records[seq-1]
}

// Answered judges a receipt that a client has got.
func (j *Judge) Answered(q Question, r Receipt) {
	j.counts.Receipts++
	if r.Command != q.command {
		j.complain("an answer is that of its question", "%v was asked %d and answers %d",
			q.entity, q.command, r.Command)
		return
	}
	j.Replies(q.entity, r, q.stores)
	if r.Seq < q.known {
		j.complain("nothing acknowledged is missed",
			"%v answers %d by its number %d, and %d was acknowledged before it was asked",
			q.entity, r.Command, r.Seq, q.known)
	}
	h := j.of(q.entity)
	h.known = max(h.known, r.Seq)
}

// End judges what the store has of an entity in the end: deleted up to a number, and the records after
// that.
func (j *Judge) End(e Entity, deleted uint64, records []Record) {
	h := j.of(e)
	if n := deleted + uint64(len(records)); n != uint64(len(h.records)) {
		j.complain("one history", "%v: the store has %d in the end, and had %d", e, n, len(h.records))
		return
	}
	if deleted > h.deleted {
		j.complain("one history", "%v: %d are deleted, and %d were asked for", e, deleted, h.deleted)
	}
	for i, r := range records {
		if seq := deleted + uint64(i) + 1; h.records[seq-1] != r {
			j.complain("one history", "%v: number %d is %+v in the end, and was %+v", e, seq, r, h.records[seq-1])
		}
	}
}

// Last judges what the store has of an entity that keeps one value: after so many records, with their
// sum.
func (j *Judge) Last(e Entity, revision uint64, sum Sum) {
	if h := j.of(e); revision != uint64(len(h.records)) || sum != h.sums[len(h.records)] {
		j.complain("one history", "%v: the value in the end is revision %d, and %d were stored",
			e, revision, len(h.records))
	}
}
