package arbitration

import "github.com/coterie-go/coterie/ddata/membership/view"

// vote is the arbiter's state, and what it has said that is not certain yet.
//
// Invariants: record is what the store holds, or will hold when the saves that are due are done.
// accepting and answer are set only with a save that is out or due.
type vote struct {
	record    Record
	sent      Record   // of the Save that was sent last
	again     bool     // record has changed since the Save that is out
	accepting bool     // record.View is decided as soon as it is saved
	answer    *Promise // said when the record is saved, to the proposer of its ballot
}

// promise notes the arbiter's answer to a first phase.
func (v *vote) promise(p Promise) {
	p.Answer.Arbiter = true
	v.answer = &p
	v.record.Cluster, v.record.Epoch, v.record.Promised = p.Cluster, p.Epoch, p.Ballot
}

// accept notes that the arbiter accepts the view of a record.
func (v *vote) accept(r Record) { v.record, v.answer, v.accepting = r, nil, true }

// send returns the record to be saved.
func (v *vote) send() []byte {
	v.again, v.sent = false, v.record
	return v.record.Encode()
}

// take returns what is certain because it is saved: the view that the arbiter has accepted, or what
// it has promised.
func (v *vote) take() (decided *view.View, answer *Promise) {
	answer = v.answer
	if v.accepting {
		decided = v.record.View
	}
	v.answer, v.accepting = nil, false
	return decided, answer
}

// forgetUnsaved takes back what the arbiter would have said once a Save that was not sent yet had
// been made.
func (v *vote) forgetUnsaved() {
	v.answer = nil
	if v.again {
		v.again, v.accepting, v.record = false, false, v.sent
	}
}

// withdraw takes back all that is not certain. What was sent to be saved may turn out to be saved.
func (v *vote) withdraw() {
	v.forgetUnsaved()
	v.accepting = false
}
