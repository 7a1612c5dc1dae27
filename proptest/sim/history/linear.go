package history

import (
	"fmt"
	"math/bits"
)

// linearRead is what a linearizable read of a set saw.
type linearRead struct {
	reader fmt.Stringer
	saw    Seen
}

// known are bits of the entries of a set, which say what a linearizable read has to look at: most entries say
// nothing new. The words that are not there are zero.
type known struct {
	seen, missed Seen // those of which that is not zero
	removed      Seen // that are Removed
	doubted      Seen // of which an update may be missing
}

// doubt notes whether an update of the entry may be missing.
func (e *Entry) doubt() { e.of.found.doubted.Note(e, e.Added.Excused() || e.Taken.Excused()) }

// linearKept is how many reads of a set are kept to be compared with later ones.
const linearKept = 64

// CheckLinear holds a linearizable read that saw these entries, began at start and ends now against the others
// of its set. That it misses nothing acknowledged is judged as of every read.
func (b *Set) CheckLinear(bad Complain, reader fmt.Stringer, saw Seen, start, now int64) {
	r := linearRead{reader: reader, saw: make(Seen, (len(b.Entries)+63)/64)}
	copy(r.saw, saw)
	stays, k := make(Seen, len(r.saw)), &b.found // the entries that are never removed: of others order says nothing
	for i, saw := range r.saw {
		seen, missed, removed := k.seen.word(i), k.missed.word(i), k.removed.word(i)
		counts := b.word(i) &^ k.doubted.word(i)
		stays[i] = counts &^ removed
		for news := counts & (saw&(missed|^seen) | ^saw&seen&^(missed&removed)); news != 0; news &= news - 1 {
			b.Entries[i*64+bits.TrailingZeros64(news)].linear(bad, reader, b.Key, r.saw, start, now)
		}
	}
	for _, o := range b.linear {
		other := beyond(o.saw, r.saw, stays)
		if other < 0 {
			continue // as mostly: what is seen is seen by later ones too
		}
		if only := beyond(r.saw, o.saw, stays); only >= 0 {
			bad("linearizable reads", "of %s, %v saw %s and not %s, %v the other way round",
				b.Key, reader, b.Entries[only].Elem,
				b.Entries[other].Elem, o.reader)
		}
	}
	if b.linear = append(b.linear, r); len(b.linear) > linearKept {
		b.linear = b.linear[1:]
	}
}

// linear holds what a linearizable read found of one entry against those that had ended before it
// began.
func (e *Entry) linear(bad Complain, reader fmt.Stringer, key string, saw Seen, start, now int64) {
	found, before := saw.Has(e), e.seen != 0 && e.seen < start
	switch {
	case found && e.missed != 0 && e.missed < start:
		bad("linearizable reads", "%v reads %s with %s, which a read missed that ended at %.6f, after another "+
			"had seen it (read began %.6f)",
			reader, key, e.Elem, float64(e.missed)/1e9, float64(start)/1e9)
	case !found && before && !e.Removed:
		bad("linearizable reads", "%v reads %s without %s, which a read saw that ended at %.6f (read began %.6f)",
			reader, key, e.Elem,
			float64(e.seen)/1e9, float64(start)/1e9)
	case !found && before && e.missed == 0:
		e.missed = now
		e.of.found.missed.Note(e, true)
	case found && e.seen == 0:
		e.seen = now
		e.of.found.seen.Note(e, true)
	}
}

// beyond finds an entry among those that count which a has and b has not, -1 when there is none.
func beyond(a, b, counts Seen) int {
	for i := range a {
		rest := a[i] & counts[i]
		if i < len(b) {
			rest &^= b[i]
		}
		if rest != 0 {
			return i*64 + bits.TrailingZeros64(rest)
		}
	}
	return -1
}

// CheckLinear holds a linearizable read of a counter against those that had ended before it
// began.
func (b *Sum) CheckLinear(bad Complain, reader fmt.Stringer, got uint64, start, now int64) {
	for i := len(b.read) - 1; i >= 0; i-- {
		if b.read[i].at >= start {
			continue
		}
		if got < b.read[i].N {
			bad("linearizable reads", "%v reads %d of %s after another read %d", reader, got, b.Key, b.read[i].N)
		}
		break
	}
	if n := len(b.read); n == 0 || b.read[n-1].N < got {
		b.read = append(b.read, AckedSum{now, got})
	}
}
