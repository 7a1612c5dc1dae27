package retiring

import (
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Word is what this node has to say of the retirement that is under way. The zero Word is silent.
type Word struct {
	epoch  view.Epoch // under which the replicators have agreed
	record uint64     // that says so of the disk
	at     time.Time  // when it is said again
}

// Give takes that the replicators have agreed under a view, and the number of the record that says so.
func (w *Word) Give(e view.Epoch, record uint64) { *w = Word{epoch: e, record: record} }

// Stands reports whether this node has agreed under the view, and its disk says so.
func (w *Word) Stands(v *view.View, stored func(record uint64) bool) bool {
	return v.Ages.Runs() && w.epoch == v.Epoch && stored(w.record)
}

// Say reports whether a word that stands is said now, and when it is said again.
func (w *Word) Say(now time.Time, beat time.Duration) (say bool, next time.Time) {
	if say = !now.Before(w.at); say {
		w.at = now.Add(beat)
	}
	return say, w.at
}
