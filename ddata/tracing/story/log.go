package story

import "slices"

// LogMax is how many ordinary records a Log keeps by default: about what a page of package viewer shows
// without delay.
const LogMax = 50_000

// Log collects records in memory. When it is full, it gives up the oldest of the ordinary ones, which are
// steps and messages. As many others are kept, from the beginning. It is not safe for concurrent use.
type Log struct {
	most     int
	next     uint64           // number of the next record
	ordinary []numberedRecord // a ring once it is full, the oldest at start
	start    int
	rare     []numberedRecord
	left     int
}

// numberedRecord is a record with its place in the order of all.
type numberedRecord struct {
	number uint64
	Record
}

// NewLog makes a Log for so many ordinary records; 0: LogMax.
func NewLog(most int) *Log {
	if most <= 0 {
		most = LogMax
	}
	return &Log{most: most}
}

// Record keeps a record. The keys belong to the Log from then on.
func (l *Log) Record(r Record) {
	n := numberedRecord{l.next, r}
	l.next++
	switch {
	case !r.Kind.ordinary() && (len(l.rare) < l.most || r.Kind == Violation):
		l.rare = append(l.rare, n)
	case !r.Kind.ordinary():
		l.left++
	case len(l.ordinary) < l.most:
		l.ordinary = append(l.ordinary, n)
	default:
		l.ordinary[l.start] = n
		l.start = (l.start + 1) % l.most
		l.left++
	}
}

// Left is how many records were given up.
func (l *Log) Left() int { return l.left }

// Records are those that are kept, in the order in which they came. The slice belongs to the caller, and the
// keys of the records to the Log.
func (l *Log) Records() []Record {
	all := slices.Concat(l.ordinary, l.rare)
	slices.SortFunc(all, func(a, b numberedRecord) int { return int(int64(a.number - b.number)) })
	records := make([]Record, len(all))
	for i, n := range all {
		records[i] = n.Record
	}
	return records
}
