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
func (c *Coordinator) storeFailureText(t *storeFailure) string {
	what := "read of "
	if t.op.write {
		what = "write of "
	}
	return what + protocol.StateKey(c.cfg.Type, t.op.kind, t.op.shard) + ": " + t.why
}

// stateFailed notes that a read or a write failed, which will be repeated.
func (c *Coordinator) stateFailed(op stateOp, err error) {
	c.counts[protocol.CountStateError]++
	i := slices.IndexFunc(c.storeFailures, func(t storeFailure) bool { return t.op == op })
	if i >= 0 {
		c.storeFailures[i].why = err.Error()
		return
	}
	c.storeFailures = append(c.storeFailures, storeFailure{op: op, since: c.now, why: err.Error()})
	c.notify(protocol.Event{Kind: protocol.StateDelayed, Text: c.storeFailureText(&c.storeFailures[len(c.storeFailures)-1])})
}

// stateWorks notes that a read or a write succeeded.
func (c *Coordinator) stateWorks(op stateOp) {
	i := slices.IndexFunc(c.storeFailures, func(t storeFailure) bool { return t.op == op })
	if i < 0 {
		return
	}
	t := c.storeFailures[i]
	c.storeFailures = slices.Delete(c.storeFailures, i, i+1)
	t.why = "it works again"
	c.notify(protocol.Event{Kind: protocol.StateResumed, Took: c.now.Sub(t.since), Text: c.storeFailureText(&t)})
}

// alarmStoreFailures tells of what has failed for long. A write that was given up is forgotten.
func (c *Coordinator) alarmStoreFailures() {
	c.storeFailures = slices.DeleteFunc(c.storeFailures, func(t storeFailure) bool { return t.op.write && !c.writing(t.op) })
	for i := range c.storeFailures {
		if t := &c.storeFailures[i]; !t.told && !c.now.Before(t.since.Add(protocol.SlowAfter)) {
			t.told = true
			c.notify(protocol.Event{Kind: protocol.StateFailed, Took: c.now.Sub(t.since), Text: c.storeFailureText(t)})
		}
	}
}

// writing reports whether a write is under way, or waits to be repeated.
func (c *Coordinator) writing(op stateOp) bool {
	for _, w := range c.writes { // order: any will do
		if writeOp(w) == op {
			return true
		}
	}
	return slices.ContainsFunc(c.failed, func(w protocol.StateWrite) bool { return writeOp(w) == op })
}
