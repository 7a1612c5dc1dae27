package protocol

import (
	"errors"
	"fmt"
	"slices"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/membership/singleton"
)

// Term is the token of a coordinator's term: higher than those of all terms of the type before.
type Term = singleton.FencingToken

// ErrDeposed: a coordinator with a later term has begun with the state, which takes nothing of this
// one any more.
var ErrDeposed = errors.New("sharding: a later coordinator has taken over the state")

// ErrFenced: a later hosting of the shard, or a later coordinator, has begun with what is stored for the
// shard: its remembered ids, or its reminders. They take nothing of this one any more.
var ErrFenced = errors.New("sharding: a later hosting of the shard has taken over what is stored for it")

// StateKind names a piece of the replicated state of a type.
type StateKind uint8

// Pieces of the replicated state.
const (
	StateHomes      StateKind = iota + 1 // the table of homes: LWWMap shard → home, the token as timestamp; volatile
	StateRegions                         // ORSet of the regions and proxies that have registered; volatile
	StateRemembered                      // ORSet of the shards that have remembered ids; durable
	StateIDs                             // ORSet of the remembered ids of one shard; durable
	StateLocations                       // LWWMap shard → address where an outside client wants it; volatile
)

// What the keys hold. A driver that subscribes, or a tool that looks, reads them so.
type (
	// HomesMap is the table of homes; the timestamp of an entry is its token.
	HomesMap = crdt.LWWMap[ShardID, UID]
	// RegionsSet is what StateRegions holds.
	RegionsSet = crdt.ORSet[UID]
	// ShardsSet is what StateRemembered holds.
	ShardsSet = crdt.ORSet[ShardID]
	// IDsSet is what StateIDs holds.
	IDsSet = crdt.ORSet[EntityID]
	// LocationsMap is what StateLocations holds; only clients write it.
	LocationsMap = crdt.LWWMap[ShardID, string]
)

// DurablePrefix begins all keys of a type that must be durable. Every type has a prefix of its own,
// so that durability depends neither on other types nor on the order of their start.
func DurablePrefix(typ string) string { return "sharding/" + typ + "/ids/" }

// StateKey is the key of a piece of a type's state; shard matters for StateIDs only.
func StateKey(typ string, k StateKind, shard ShardID) string {
	switch k {
	case StateHomes:
		return "sharding/" + typ + "/homes"
	case StateRegions:
		return "sharding/" + typ + "/regions"
	case StateRemembered:
		return DurablePrefix(typ) + "shards"
	case StateLocations:
		return "sharding/" + typ + "/locations"
	}
	return DurablePrefix(typ) + shard.String()
}

// StateRead asks for a majority read of one key. Result makes the completion of what was read.
type StateRead struct {
	ID     uint64
	Kind   StateKind
	Shard  ShardID // of StateIDs
	Failed uint    // how often it has failed in a row: a driver gives it the more time
	By     Term    // of the coordinator that reads, or of the hosting: a driver puts that in
}

// Key is the key to read.
func (r StateRead) Key(typ string) string { return StateKey(typ, r.Kind, r.Shard) }

// StateWrite asks for a majority write of one key: an Update with Mutate. It is idempotent and may
// be repeated. Its slices are not changed any more and may be kept.
type StateWrite struct {
	ID     uint64
	Kind   StateKind
	Shard  ShardID // of StateIDs
	Failed uint    // of a shard's write, how often it has failed in a row: a driver gives it the more time
	By     Term    // of the coordinator that writes, or of the hosting: a driver puts that in

	Homes         []Entry    // of StateHomes
	AddRegions    []UID      // of StateRegions
	RemoveRegions []UID      // of StateRegions
	AddShards     []ShardID  // of StateRemembered
	RemoveShards  []ShardID  // of StateRemembered
	AddIDs        []EntityID // of StateIDs
	RemoveIDs     []EntityID // of StateIDs
}

// Key is the key to update.
func (w StateWrite) Key(typ string) string { return StateKey(typ, w.Kind, w.Shard) }

// Mutate is the mutation of the Update.
func (w StateWrite) Mutate(tx *crdt.Tx) error {
	switch w.Kind {
	case StateHomes:
		return putHomes(HomesMap{}.Mutator(tx), w.Homes)
	case StateRegions:
		return change(RegionsSet{}.Mutator(tx), w.AddRegions, w.RemoveRegions)
	case StateRemembered:
		return change(ShardsSet{}.Mutator(tx), w.AddShards, w.RemoveShards)
	}
	add := w.AddIDs
	if w.Failed > 0 {
		var err error
		if add, err = unwritten(tx, add); err != nil {
			return err
		}
	}
	return change(IDsSet{}.Mutator(tx), add, w.RemoveIDs)
}

// unwritten leaves out the ids that this replica has put itself and that are still there, except
// one. A write that was not answered in time may still be on its way. To make all of it anew would
// cost the replicas as much again, when they are slow already. One id is put again so that there is
// an event to wait for. An ack of that event counts for all earlier events of its origin. An id
// that another replica has put may not be acknowledged by any member, so it is put again too.
func unwritten(tx *crdt.Tx, ids []EntityID) ([]EntityID, error) {
	own := func(it *crdt.Item) bool { return it.Dot.Origin == tx.Origin() }
	var out []EntityID
	for i, id := range ids {
		path, err := crdt.ElementPath(crdt.KindORSet, id)
		if err != nil {
			return nil, err
		}
		if i == 0 || !slices.ContainsFunc(tx.At(path), own) {
			out = append(out, id)
		}
	}
	return out, nil
}

// putHomes writes the entries under their tokens. An entry that is there already is written again:
// the earlier write may have reached no majority, and only a new event is waited for.
func putHomes(m *crdt.LWWMapTx[ShardID, UID], es []Entry) error {
	for _, e := range es {
		if _, err := m.PutAt(e.Shard, e.Home, e.Token.timestamp()); err != nil {
			return err
		}
	}
	return nil
}

func change[E comparable](s *crdt.ORSetTx[E], add, remove []E) error {
	for _, e := range add {
		if err := s.Add(e); err != nil {
			return err
		}
	}
	for _, e := range remove {
		if err := s.Remove(e); err != nil {
			return err
		}
	}
	return nil
}

// Result turns the outcome of the read into the machine's input.
func (r StateRead) Result(v crdt.Reader, err error) DidRead {
	in := DidRead{ID: r.ID, Err: err}
	if err != nil {
		return in
	}
	switch r.Kind {
	case StateHomes:
		in.Homes, in.Err = homes(v)
	case StateRegions:
		in.Regions, in.Err = elements(RegionsSet{}.View(v))
	case StateRemembered:
		in.Shards, in.Err = elements(ShardsSet{}.View(v))
	case StateLocations:
		in.Locations, in.Err = locations(v)
	default:
		in.IDs, in.Err = elements(IDsSet{}.View(v))
	}
	return in
}

func homes(v crdt.Reader) ([]Entry, error) {
	m, err := HomesMap{}.View(v)
	if err != nil {
		return nil, err
	}
	out := make([]Entry, 0, m.Len())
	for s := range m.All() {
		if u, ts, ok := m.At(s); ok {
			out = append(out, Entry{Shard: s, Home: u, Token: tokenOf(ts)})
		}
	}
	return out, nil
}

func locations(v crdt.Reader) ([]Location, error) {
	m, err := LocationsMap{}.View(v)
	if err != nil {
		return nil, err
	}
	out := make([]Location, 0, m.Len())
	for s, addr := range m.All() {
		out = append(out, Location{s, addr})
	}
	return out, nil
}

func elements[E comparable](s crdt.ORSet[E], err error) ([]E, error) {
	if err != nil {
		return nil, err
	}
	out := make([]E, 0, s.Len())
	for e := range s.All() {
		out = append(out, e)
	}
	return out, nil
}

func (r StateRead) String() string {
	s := fmt.Sprintf("read #%d %s", r.ID, printKey(r.Kind, r.Shard))
	if r.Failed > 0 {
		s += fmt.Sprintf(" failed=%d", r.Failed)
	}
	return s
}

func (w StateWrite) String() string {
	s := fmt.Sprintf("write #%d %s%s", w.ID, printKey(w.Kind, w.Shard), ListText(w.Homes))
	if w.Failed > 0 {
		s += fmt.Sprintf(" failed=%d", w.Failed)
	}
	s += signed("+", w.AddRegions) + signed("-", w.RemoveRegions) + signed("+",
		w.AddShards) + signed("-", w.RemoveShards)
	return s + signed("+", w.AddIDs) + signed("-", w.RemoveIDs)
}

var stateNames = [...]string{
	StateHomes: "homes", StateRegions: "regions", StateRemembered: "remembered", StateIDs: "ids",
	StateLocations: "locations",
}

// String is the name of the piece.
func (k StateKind) String() string {
	if int(k) < len(stateNames) && k > 0 {
		return stateNames[k]
	}
	return fmt.Sprintf("StateKind(%d)", uint8(k))
}

func printKey(k StateKind, shard ShardID) string {
	if k == StateIDs {
		return "ids/" + shard.String()
	}
	return k.String()
}
