package ledger

// Question is what was known of an entity when it was asked something.
type Question struct {
	entity  Entity
	command uint64
	stores  bool
	known   uint64
}

// Asks notes a question. stores says that its reply stands for records of its own.
func (l *Ledger) Asks(e Entity, command uint64, stores bool) Question {
	return Question{e, command, stores, l.of(e).known}
}

// Replies judges a receipt that an entity is about to send.
func (l *Ledger) Replies(e Entity, r Receipt, stores bool) {
	h := l.of(e)
	if r.Seq >= uint64(len(h.sums)) {
		l.complain("replies come after commits", "%v replies to %d by its number %d, and the store has %d",
			e, r.Command, r.Seq, len(h.records))
		return
	}
	if h.sums[r.Seq] != r.Sum {
		l.complain("a reply is the fold of its history", "%v replies to %d by its number %d of another history",
			e, r.Command, r.Seq)
	}
	if !stores {
		return
	}
	if last := h.last(r.Seq); last.Command != r.Command || last.Part+1 != last.Parts {
		l.complain("replies come after commits",
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
func (l *Ledger) Answered(q Question, r Receipt) {
	l.counts.Receipts++
	if r.Command != q.command {
		l.complain("an answer is that of its question", "%v was asked %d and answers %d",
			q.entity, q.command, r.Command)
		return
	}
	l.Replies(q.entity, r, q.stores)
	if r.Seq < q.known {
		l.complain("nothing acknowledged is missed",
			"%v answers %d by its number %d, and %d was acknowledged before it was asked",
			q.entity, r.Command, r.Seq, q.known)
	}
	h := l.of(q.entity)
	h.known = max(h.known, r.Seq)
}

// End judges what the store has of an entity in the end: deleted up to a number, and the records after
// that.
func (l *Ledger) End(e Entity, deleted uint64, records []Record) {
	h := l.of(e)
	if n := deleted + uint64(len(records)); n != uint64(len(h.records)) {
		l.complain("one history", "%v: the store has %d in the end, and had %d", e, n, len(h.records))
		return
	}
	if deleted > h.deleted {
		l.complain("one history", "%v: %d are deleted, and %d were asked for", e, deleted, h.deleted)
	}
	for i, r := range records {
		if seq := deleted + uint64(i) + 1; h.records[seq-1] != r {
			l.complain("one history", "%v: number %d is %+v in the end, and was %+v", e, seq, r, h.records[seq-1])
		}
	}
}

// Last judges what the store has of an entity that keeps one value: after so many records, with their
// sum.
func (l *Ledger) Last(e Entity, revision uint64, sum Sum) {
	if h := l.of(e); revision != uint64(len(h.records)) || sum != h.sums[len(h.records)] {
		l.complain("one history", "%v: the value in the end is revision %d, and %d were stored",
			e, revision, len(h.records))
	}
}
