package ledger

import (
	"cmp"
	"slices"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/persistence/history"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// term is the token of a coordinator's term, as it is stored.
type term = history.StoredToken

// home is an entry of the table, as it is stored.
type home struct {
	_     struct{} `cbor:",toarray"`
	Shard uint32
	UID   uint64 // 0: the shard was stopped for good
	Epoch uint64
	Up    uint32
	Seq   uint64
}

// The events, and the snapshots.
type (
	placed struct {
		By    term
		Homes []home
	}
	registered struct {
		By             term
		Added, Removed []uint64
	}
	allHomes struct {
		Era   uint64
		Homes []home
	}
	allRegions struct {
		Era     uint64
		Regions []uint64
	}
)

// values are homes or regions of the cluster with the highest Era that has written.
type values[K comparable, V any] struct {
	era view.Era
	of  map[K]V
}

// enter prepares for what was written in an era. It reports false for one that is over. With the
// first of a new one all of the former is void.
func (v *values[K, V]) enter(era uint64) bool {
	if e := view.Era(era); e > v.era {
		v.era = e
		clear(v.of)
	}
	return view.Era(era) == v.era
}

// in is what was written in an era.
func (v *values[K, V]) in(era view.Era) map[K]V {
	if v.era != era {
		return nil
	}
	return v.of
}

type (
	homes   = values[protocol.ShardID, protocol.Entry]
	regions = values[protocol.UID, bool]
)

var homesForm = history.Form[*homes]{
	Events:    schema.CBOR(schema.Type[any]("placed", placed{})),
	Snapshots: schema.CBOR(schema.Type[any]("homes", allHomes{})),
	Empty:     func() *homes { return &homes{of: map[protocol.ShardID]protocol.Entry{}} },
	Apply: func(to *homes, event any) {
		switch e := event.(type) {
		case placed:
			place(to, e.By.Era, e.Homes)
		case allHomes:
			place(to, e.Era, e.Homes)
		}
	},
	Whole: func(h *homes) any { return allHomes{uint64(h.era), storedHomes(entriesOf(h.of))} },
}

// place puts entries into the table. Of one shard that with the highest token stands.
func place(to *homes, era uint64, entries []home) {
	if !to.enter(era) {
		return
	}
	for _, h := range entries {
		e := protocol.Entry{
			Shard: protocol.ShardID(h.Shard), Home: protocol.UID(h.UID),
			Token: protocol.Token{Epoch: h.Epoch, Up: h.Up, Seq: h.Seq},
		}
		if was, there := to.of[e.Shard]; !there || was.Token.Less(e.Token) {
			to.of[e.Shard] = e
		}
	}
}

// entriesOf are the entries of a table in the order of their shards.
func entriesOf(of map[protocol.ShardID]protocol.Entry) []protocol.Entry {
	out := make([]protocol.Entry, 0, len(of))
	for _, e := range of { // order: sorted
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b protocol.Entry) int { return cmp.Compare(a.Shard, b.Shard) })
	return out
}

func storedHomes(entries []protocol.Entry) []home {
	out := make([]home, 0, len(entries))
	for _, e := range entries {
		out = append(out, home{
			Shard: uint32(e.Shard), UID: uint64(e.Home), Epoch: e.Token.Epoch, Up: e.Token.Up, Seq: e.Token.Seq,
		})
	}
	return out
}

var regionsForm = history.Form[*regions]{
	Events:    schema.CBOR(schema.Type[any]("registered", registered{})),
	Snapshots: schema.CBOR(schema.Type[any]("regions", allRegions{})),
	Empty:     func() *regions { return &regions{of: map[protocol.UID]bool{}} },
	Apply: func(to *regions, event any) {
		switch e := event.(type) {
		case registered:
			register(to, e.By.Era, e.Added, e.Removed)
		case allRegions:
			register(to, e.Era, e.Regions, nil)
		}
	},
	Whole: func(r *regions) any { return allRegions{uint64(r.era), numbers(uidsOf(r.of))} },
}

func register(to *regions, era uint64, added, removed []uint64) {
	if !to.enter(era) {
		return
	}
	for _, u := range added {
		to.of[protocol.UID(u)] = true
	}
	for _, u := range removed {
		delete(to.of, protocol.UID(u))
	}
}

// uidsOf are the regions in order.
func uidsOf(of map[protocol.UID]bool) []protocol.UID {
	out := make([]protocol.UID, 0, len(of))
	for u := range of { // order: sorted
		out = append(out, u)
	}
	slices.Sort(out)
	return out
}

func numbers(us []protocol.UID) []uint64 {
	out := make([]uint64, 0, len(us))
	for _, u := range us {
		out = append(out, uint64(u))
	}
	return out
}
