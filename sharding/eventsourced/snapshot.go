package eventsourced

import (
	"errors"
	"slices"
	"sync"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/batch"
	"github.com/coterie-go/coterie/sharding/persistence/batch/calls"
	"github.com/coterie-go/coterie/sharding/persistence/incarnation"
)

// The body of a snapshot is an array in CBOR: the numbers of the snapshots before it that are kept,
// ascending, and the state.

// sealSnapshot makes the body of a snapshot.
func sealSnapshot(older []uint64, state []byte) []byte {
	b := cbor.AppendArray(cbor.AppendArray(nil, 2), len(older))
	for _, seq := range older {
		b = cbor.AppendUint(b, seq)
	}
	return cbor.AppendBytes(b, state)
}

// openSnapshot reads what sealSnapshot has made for a snapshot after an event. The state is a part of
// b. The numbers must be ascending: what is older than the first one is going to be deleted.
func openSnapshot(seq uint64, b []byte) (older []uint64, state []byte, err error) {
	r := cbor.NewReader(b)
	r.Tuple(2)
	last := uint64(0)
	for range r.Array(keepMost) {
		n := r.Uint()
		if n <= last || n >= seq {
			r.Fail("a snapshot has the number %d, between %d and %d", n, last, seq)
		}
		older, last = append(older, n), n
	}
	state = r.Bytes(persistence.BodyMax)
	return older, state, r.End()
}

// snapshots are those of an entity that its incarnation knows of. Answers of the store come on any
// goroutine, also after the incarnation has ended.
type snapshots struct {
	mu   sync.Mutex
	kept []uint64 // numbers, ascending; all are stored
	last uint64   // of the newest one that was begun; at least all of kept
	// writing is how many are being written: at most one, and one more at the end.
	writing int
}

// begin notes what is stored when the incarnation starts.
func (s *snapshots) begin(kept []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept, s.last = kept, kept[len(kept)-1]
}

// take begins a snapshot after an event, if the last one is so many events old. It returns those
// before it. While one is being written another one begins only at the end of the incarnation.
func (s *snapshots) take(seq, every uint64, atEnd bool) (older []uint64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writing > 0 && !atEnd || seq < s.last+every {
		return nil, false
	}
	s.writing, s.last = s.writing+1, seq
	return slices.Clone(s.kept), true
}

// taken ends what take has begun. It returns the oldest one that is kept from then on; 0: there are too few to
// delete any.
func (s *snapshots) taken(seq uint64, keep int, err error) (oldest uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writing--
	if err != nil {
		return 0
	}
	s.kept = append(s.kept, seq)
	slices.Sort(s.kept)
	if len(s.kept) < keep {
		return 0
	}
	s.kept = slices.Clone(s.kept[len(s.kept)-keep:])
	return s.kept[0]
}

// snapshotInTime makes a snapshot if it is time for one. The entity does not wait for it.
func (e *entity[M, E, S]) snapshotInTime(c *sharding.Context[M]) {
	if every := uint64(e.Snapshot.Every); every > 0 {
		if older, ok := e.kept.take(e.seq, every, false); ok {
			e.save(c, older, func(error) {})
		}
	}
}

// snapshotAtEnd makes a snapshot, unless the last one is of this state. The end of the incarnation
// waits for it. Without it nothing is lost.
func (e *entity[M, E, S]) snapshotAtEnd(c *sharding.Context[M]) error {
	if !e.Snapshot.OnStop {
		return nil
	}
	older, ok := e.kept.take(e.seq, 1, true)
	if !ok {
		return nil
	}
	return incarnation.Wait(c, e.store.Pending(calls.SaveSnapshot), func(done func(error)) { e.save(c, older, done) },
		func(*sharding.Context[M], error) error { return nil })
}

// save writes the state, with those before it, and deletes what is not kept any more.
func (e *entity[M, E, S]) save(c *sharding.Context[M], older []uint64, done func(error)) {
	seq, keep, region := e.seq, e.Snapshot.Keep, c.Region()
	x, err := e.Snapshot.Schema.Encode(e.state)
	if err != nil {
		e.kept.taken(seq, keep, err)
		e.tell(region, "encode a snapshot", seq, err)
		done(err)
		return
	}
	if len(older) >= keep {
		older = older[len(older)-keep+1:]
	}
	s := persistence.Snapshot{
		Entity: e.id, Seq: seq, Name: x.Name, Version: x.Version, Body: sealSnapshot(older, x.Body),
		At: incarnation.Now(region),
	}
	e.store.SaveSnapshot(e.hosting, s, func(err error) {
		oldest := e.kept.taken(seq, keep, err)
		if err != nil {
			e.tell(region, "save a snapshot", seq, err)
		}
		if oldest > 0 {
			e.prune(region, oldest)
		}
		done(err)
	})
}

// prune deletes what is older than the oldest snapshot that is kept.
func (e *entity[M, E, S]) prune(region *sharding.Region[M], oldest uint64) {
	told := func(doing string) func(error) {
		return func(err error) {
			switch {
			case errors.Is(err, batch.ErrEnded), errors.Is(err, batch.ErrClosed): // the next incarnation does it
			case err != nil:
				e.tell(region, doing, oldest, err)
			}
		}
	}
	e.store.DeleteSnapshots(e.hosting, e.id, oldest-1, told("delete snapshots"))
	if e.Snapshot.DeleteEvents {
		e.store.Delete(e.hosting, e.id, oldest, told("delete events"))
	}
}

// tell tells of a failure that the entity goes on after.
func (e *entity[M, E, S]) tell(g *sharding.Region[M], doing string, seq uint64, err error) {
	g.Emit(SnapshotFailed{Type: e.hosting.Type, Entity: e.id, Doing: doing, Seq: seq, Err: err})
}
