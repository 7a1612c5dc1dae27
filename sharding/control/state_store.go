package control

import (
	"errors"
	"strconv"
	"strings"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/sharding/failure"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// errNoState answers reads and writes of a region without a Replicator; no machine of a proxy asks
// for any.
var errNoState = errors.New("sharding: this node has no replica of the role's data")

// StateStore reads and writes what the machines of a type keep. Any goroutine may use it.
type StateStore struct {
	Type       string    // the entity type's name
	Data       host.Data // nil: the node has no replica of the role's data
	Quorums    Quorums
	remembered *remembered // nil: the ids are in data, too
	ledgered   *ledgered   // nil: homes and regions are in data only
	Asides     *asides
}

// Write writes a piece of the state.
func (s *StateStore) Write(w protocol.StateWrite, done func(error)) {
	if s.remembered.of(w.Kind) {
		if !s.Asides.run(func() {
			done(s.remembered.write(s.Asides.ctx, s.Quorums.WriteLimit(w.Failed), w))
			s.remembered.tidy(s.Asides.ctx)
		}) {
			done(failure.ErrStopped)
		}
		return
	}
	if s.ledgered.of(w.Kind) {
		if !s.Asides.run(func() { s.writeLedger(w, done) }) {
			done(failure.ErrStopped)
		}
		return
	}
	if s.Data == nil {
		done(errNoState)
		return
	}
	s.Data.Update(w.Key(s.Type), s.Quorums.write(), s.Quorums.WriteLimit(w.Failed), w.Mutate, done)
}

// Read decodes what was read on a goroutine of its own: a set may be large, and done comes on the
// Replicator's.
func (s *StateStore) Read(r protocol.StateRead, done func(crdt.Reader, protocol.DidRead)) {
	if s.remembered.of(r.Kind) {
		if !s.Asides.run(func() {
			done(crdt.Reader{}, s.remembered.read(s.Asides.ctx, s.Quorums.readLimit(r.Failed), r))
			s.remembered.tidy(s.Asides.ctx)
		}) {
			done(crdt.Reader{}, r.Result(crdt.Reader{}, failure.ErrStopped))
		}
		return
	}
	if s.ledgered.of(r.Kind) {
		if !s.Asides.run(func() { done(crdt.Reader{}, s.readLedger(r)) }) {
			done(crdt.Reader{}, r.Result(crdt.Reader{}, failure.ErrStopped))
		}
		return
	}
	if s.Data == nil {
		done(crdt.Reader{}, r.Result(crdt.Reader{}, errNoState))
		return
	}
	s.Data.Get(r.Key(s.Type), s.Quorums.read(), s.Quorums.readLimit(r.Failed), func(v crdt.Reader, err error) {
		s.Asides.run(func() { done(v, r.Result(v, err)) })
	})
}

// stateChanges take what has changed in the replicated state, each its own part.
type stateChanges struct {
	homes, locations func(crdt.Reader)
	remembered       func(crdt.Reader) // the set of shards with remembered ids
	ids              func(shard uint32, v crdt.Reader)
}

// follow passes changes of the replicated state on. What a remember.Store keeps does not stand
// there.
func (s *StateStore) follow(on stateChanges) (cancel func()) {
	if s.Data == nil {
		return func() {}
	}
	homes := protocol.StateKey(s.Type, protocol.StateHomes, 0)
	locations := protocol.StateKey(s.Type, protocol.StateLocations, 0)
	remembered := protocol.StateKey(s.Type, protocol.StateRemembered, 0)
	ids := protocol.DurablePrefix(s.Type)
	return s.Data.Watch("sharding/"+s.Type+"/", func(key string, v crdt.Reader) {
		switch {
		case key == homes:
			on.homes(v)
		case key == locations:
			on.locations(v)
		case s.remembered != nil:
		case key == remembered:
			on.remembered(v)
		case strings.HasPrefix(key, ids):
			if n, err := strconv.ParseUint(key[len(ids):], 10, 32); err == nil {
				on.ids(uint32(n), v)
			}
		}
	})
}

// watch passes changes of a remember.Store on, if it tells of them.
func (s *StateStore) watch(changed func(protocol.ShardID, protocol.IDsChanged)) (cancel func()) {
	if s.remembered == nil {
		return func() {}
	}
	return s.remembered.watch(changed)
}
