package coordinator

import (
	"slices"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// store is the coordinator's side of its replicated state: the writes under way and those to be
// repeated, and what cannot be read or written now.
type store struct {
	*env
	writes      map[uint64]protocol.StateWrite // under way
	failed      []protocol.StateWrite          // to be repeated with the next tick
	tableWrites int                            // of writes, those of the table
	failures    []storeFailure                 // at most one for each stateOp
	term        protocol.Term                  // what is read and written is of it
}

// failedRead stands in the ID of a read that must be repeated.
const failedRead = ^uint64(0)

func (sr *store) read(k protocol.StateKind) protocol.StateRead {
	return sr.readAs(protocol.StateRead{Kind: k})
}

// readAs reads, under an ID of its own.
func (sr *store) readAs(r protocol.StateRead) protocol.StateRead {
	r.ID, r.By = sr.nextID(), sr.term
	sr.fx.Read = append(sr.fx.Read, r)
	return r
}

// retryRead reads again what could not be read.
func (sr *store) retryRead(r *protocol.StateRead) {
	if r.ID == failedRead {
		*r = sr.readAs(*r)
	}
}

// readFailed notes that a read failed. Its ID is given up until it is repeated.
func (sr *store) readFailed(r *protocol.StateRead, err error) {
	r.ID = failedRead
	r.Failed++
	sr.opFailed(readOp(*r), err)
}

func (sr *store) write(w protocol.StateWrite) {
	w.ID, w.By = sr.nextID(), sr.term
	sr.writes[w.ID] = w
	if w.Kind == protocol.StateHomes {
		sr.tableWrites++
	}
	sr.fx.Write = append(sr.fx.Write, w)
}

// awaits reports whether a write is under way.
func (sr *store) awaits(id uint64) bool {
	_, under := sr.writes[id]
	return under
}

// wrote completes a write: ok says that it was under way and has succeeded. One that failed is
// repeated.
func (sr *store) wrote(id uint64, err error) (w protocol.StateWrite, ok bool) {
	w, known := sr.writes[id]
	if !known {
		sr.counts[protocol.CountLate]++
		return w, false
	}
	delete(sr.writes, id)
	if w.Kind == protocol.StateHomes {
		sr.tableWrites--
	}
	if err != nil {
		sr.failed = append(sr.failed, w)
		sr.opFailed(writeOp(w), err)
		return w, false
	}
	if op := writeOp(w); !sr.earlierUnderWay(id, op) {
		sr.opWorks(op)
	}
	return w, true
}

// earlierUnderWay reports whether a write of a piece that began before this one has no answer yet. It may have begun
// before what failed worked again, and fail still: then it would be told twice that it works.
func (sr *store) earlierUnderWay(id uint64, op stateOp) bool {
	for other, w := range sr.writes { // order: it only asks for one
		if other < id && writeOp(w) == op {
			return true
		}
	}
	return false
}

// retryWrites repeats what failed, as far as it still stands.
func (sr *store) retryWrites(stands func(protocol.Entry) bool) {
	failed := sr.failed
	sr.failed = nil
	for _, w := range failed {
		w.Homes = slices.DeleteFunc(slices.Clone(w.Homes), func(e protocol.Entry) bool { return !stands(e) })
		if len(w.Homes)+len(w.AddRegions)+len(w.RemoveRegions)+len(w.RemoveIDs)+len(w.RemoveShards) > 0 {
			sr.counts[protocol.CountRetries]++
			sr.write(w)
		}
	}
}
