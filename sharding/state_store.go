package sharding

import (
	"errors"
	"strconv"
	"strings"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// errNoState answers reads and writes of a region without a Replicator; no machine of a proxy asks
// for any.
var errNoState = errors.New("sharding: this node has no replica of the role's data")

// stateStore reads and writes what the machines of a type keep. Any goroutine may use it.
type stateStore struct {
	typ        string    // the entity type's name
	data       host.Data // nil: the node has no replica of the role's data
	quorums    quorums
	remembered *remembered // nil: the ids are in data, too
	asides     *asides
}

func (s *stateStore) write(w protocol.StateWrite, done func(error)) {
	if s.remembered.of(w.Kind) {
		if !s.asides.run(func() { done(s.remembered.write(s.asides.ctx, s.quorums.writeLimit(w.Failed), w)) }) {
			done(ErrStopped)
		}
		return
	}
	if s.data == nil {
		done(errNoState)
		return
	}
	s.data.Update(w.Key(s.typ), s.quorums.write, s.quorums.writeLimit(w.Failed), w.Mutate, done)
}

// read decodes what was read on a goroutine of its own: a set may be large, and done comes on the
// Replicator's.
func (s *stateStore) read(r protocol.StateRead, done func(crdt.Reader, protocol.DidRead)) {
	if s.remembered.of(r.Kind) {
		if !s.asides.run(func() { done(crdt.Reader{}, s.remembered.read(s.asides.ctx, s.quorums.readLimit(r.Failed), r)) }) {
			done(crdt.Reader{}, r.Result(crdt.Reader{}, ErrStopped))
		}
		return
	}
	if s.data == nil {
		done(crdt.Reader{}, r.Result(crdt.Reader{}, errNoState))
		return
	}
	s.data.Get(r.Key(s.typ), s.quorums.read, s.quorums.readLimit(r.Failed), func(v crdt.Reader, err error) {
		s.asides.run(func() { done(v, r.Result(v, err)) })
	})
}

// stateChanges take what has changed in the replicated state, each its own part.
type stateChanges struct {
	homes, locations func(crdt.Reader)
	remembered       func(crdt.Reader) // the set of shards with remembered ids
	ids              func(shard uint32, v crdt.Reader)
}

// follow passes changes of the replicated state on. What a RememberStore keeps does not stand there.
func (s *stateStore) follow(on stateChanges) (cancel func()) {
	if s.data == nil {
		return func() {}
	}
	homes := protocol.StateKey(s.typ, protocol.StateHomes, 0)
	locations := protocol.StateKey(s.typ, protocol.StateLocations, 0)
	remembered := protocol.StateKey(s.typ, protocol.StateRemembered, 0)
	ids := protocol.DurablePrefix(s.typ)
	return s.data.Watch("sharding/"+s.typ+"/", func(key string, v crdt.Reader) {
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

// watch passes changes of a RememberStore on, if it tells of them.
func (s *stateStore) watch(changed func(protocol.ShardID, protocol.IDsChanged)) (cancel func()) {
	if s.remembered == nil {
		return func() {}
	}
	return s.remembered.watch(changed)
}
