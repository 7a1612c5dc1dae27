package coordinator

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// A coordinator that cannot read or write its state repeats that for as long as it must, and does
// not act meanwhile: shards that it places get no home, and a takeover does not end. It says so:
// once when a read or a write fails, as a warning, again as an alarm if that goes on for patience,
// and at last that it is over.

// stateOp is what failed: reads, or writes, of one piece of the state.
type stateOp struct {
	write bool
	kind  protocol.StateKind
	shard protocol.ShardID // of StateIDs
}

// storeFailure is a piece that cannot be read or written now.
type storeFailure struct {
	op    stateOp
	since time.Time // when it failed first
	why   string    // what it said last
	told  bool      // with an alarm
}

func readOp(r protocol.StateRead) stateOp { return stateOp{kind: r.Kind, shard: r.Shard} }
func writeOp(w protocol.StateWrite) stateOp {
	return stateOp{write: true, kind: w.Kind, shard: w.Shard}
}

// text says what was tried, of which key, and what came of it.
func (sr *store) failureText(t *storeFailure) string {
	what := "read of "
	if t.op.write {
		what = "write of "
	}
	return what + protocol.StateKey(sr.cfg.Name, t.op.kind, t.op.shard) + ": " + t.why
}

// opFailed notes that a read or a write failed, which will be repeated.
func (sr *store) opFailed(op stateOp, err error) {
	sr.counts[protocol.CountStateError]++
	i := slices.IndexFunc(sr.failures, func(t storeFailure) bool { return t.op == op })
	if i >= 0 {
		sr.failures[i].why = err.Error()
		return
	}
	sr.failures = append(sr.failures, storeFailure{op: op, since: sr.now, why: err.Error()})
	sr.notify(protocol.Event{Kind: protocol.StateDelayed, Text: sr.failureText(&sr.failures[len(sr.failures)-1])})
}

// opWorks notes that a read or a write succeeded.
func (sr *store) opWorks(op stateOp) {
	i := slices.IndexFunc(sr.failures, func(t storeFailure) bool { return t.op == op })
	if i < 0 {
		return
	}
	t := sr.failures[i]
	sr.failures = slices.Delete(sr.failures, i, i+1)
	t.why = "it works again"
	sr.notify(protocol.Event{Kind: protocol.StateResumed, Took: sr.now.Sub(t.since), Text: sr.failureText(&t)})
}

// failing says what keeps this coordinator from giving homes, if it has told of it as an alarm.
func (sr *store) failing() string {
	for i := range sr.failures {
		switch t := &sr.failures[i]; t.op.kind {
		case protocol.StateHomes, protocol.StateRegions, protocol.StateLocations:
			if t.told {
				return sr.failureText(t)
			}
		}
	}
	return ""
}

// sayFailing tells a region that asks what keeps this coordinator from answering, so that the region
// can tell its callers.
func (sr *store) sayFailing(out *outbox, to protocol.UID) {
	if why := sr.failing(); why != "" {
		out.send(to, protocol.StateFailing{Why: why})
	}
}

// alarmFailures tells of what has failed for long. A write that was given up is forgotten.
func (sr *store) alarmFailures() {
	sr.failures = slices.DeleteFunc(sr.failures, func(t storeFailure) bool { return t.op.write && !sr.writing(t.op) })
	for i := range sr.failures {
		if t := &sr.failures[i]; !t.told && !sr.now.Before(t.since.Add(protocol.SlowAfter)) {
			t.told = true
			sr.notify(protocol.Event{Kind: protocol.StateFailed, Took: sr.now.Sub(t.since), Text: sr.failureText(t)})
		}
	}
}

// writing reports whether a write is under way, or waits to be repeated.
func (sr *store) writing(op stateOp) bool {
	for _, w := range sr.writes { // order: any will do
		if writeOp(w) == op {
			return true
		}
	}
	return slices.ContainsFunc(sr.failed, func(w protocol.StateWrite) bool { return writeOp(w) == op })
}
