package ledgers

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// The stored forms, as packages ledger and journaled describe them.
type (
	term struct {
		_     struct{} `cbor:",toarray"`
		Era   uint64
		Epoch uint64
		Up    uint32
		Seq   uint64
	}
	home struct {
		_     struct{} `cbor:",toarray"`
		Shard uint32
		UID   uint64
		Epoch uint64
		Up    uint32
		Seq   uint64
	}
	placed struct {
		By    term
		Homes []home
	}
	registered struct {
		By             term
		Added, Removed []uint64
	}
	changed struct {
		Added, Removed [][]byte
		By             term
	}
	loaded struct{ By term }
)

var forms = schema.CBOR(schema.Type[any]("placed", placed{}), schema.Type[any]("registered", registered{}),
	schema.Type[any]("changed", changed{}), schema.Type[any]("loaded", loaded{}))

func (t term) fence() protocol.Term {
	return protocol.Term{Era: view.Era(t.Era), Epoch: view.Epoch(t.Epoch), Up: t.Up, Seq: t.Seq}
}

// entry is the home as the machines know it.
func (h home) entry() protocol.Entry {
	return protocol.Entry{
		Shard: protocol.ShardID(h.Shard), Home: protocol.UID(h.UID),
		Token: protocol.Token{Epoch: h.Epoch, Up: h.Up, Seq: h.Seq},
	}
}

// book is what the judge knows of one type of the journal: the homes and regions of an entity type, or
// its remembered ids.
type book struct {
	typ       string
	complain  func(check, format string, args ...any)
	latest    protocol.Term                         // the latest that has fenced the journal
	histories map[string]*history                   // only looked up
	eras      map[view.Era]*era                     // foundings of the cluster; only looked up
	sets      map[string]map[protocol.EntityID]bool // of ids, by history; only looked up
}

// history is what is known of the events of one.
type history struct {
	last  uint64
	by    protocol.Term   // of remembered ids: the latest hosting that has loaded or changed them
	saved map[uint64]bool // the numbers of all snapshots; only looked up
}

// era is what was written in one founding of the cluster.
type era struct {
	written map[protocol.Entry]bool             // all that ever was
	homes   map[protocol.ShardID]protocol.Entry // of each shard that with the highest token
	regions map[protocol.UID]bool
}

func newBook(typ string, complain func(check, format string, args ...any)) *book {
	return &book{typ: typ, complain: complain, histories: map[string]*history{}, eras: map[view.Era]*era{},
		sets: map[string]map[protocol.EntityID]bool{}}
}

func (b *book) history(id string) *history {
	h := b.histories[id]
	if h == nil {
		h = &history{saved: map[uint64]bool{}}
		b.histories[id] = h
	}
	return h
}

func (b *book) set(id string) map[protocol.EntityID]bool {
	of := b.sets[id]
	if of == nil {
		of = map[protocol.EntityID]bool{}
		b.sets[id] = of
	}
	return of
}

func (b *book) era(e view.Era) *era {
	of := b.eras[e]
	if of == nil {
		of = &era{map[protocol.Entry]bool{}, map[protocol.ShardID]protocol.Entry{}, map[protocol.UID]bool{}}
		b.eras[e] = of
	}
	return of
}

// stored judges an event that the journal has now.
func (b *book) stored(by protocol.Term, id string, e persistence.Event) {
	if by.Less(b.latest) {
		b.complain("no append after a later coordinator has read",
			"%s of %s: event %d is stored for %v, and %v has read", id, b.typ, e.Seq, by, b.latest)
	}
	h := b.history(id)
	if e.Seq != h.last+1 {
		b.complain("one history", "%s of %s: event %d is stored after %d", id, b.typ, e.Seq, h.last)
	}
	h.last = e.Seq
	v, err := forms.Decode(schema.Stored{Name: e.Name, Version: e.Version, Body: e.Body})
	if err != nil {
		b.complain("ledger", "%s of %s: event %d: %v", id, b.typ, e.Seq, err)
		return
	}
	switch v := v.(type) {
	case placed:
		of := b.era(view.Era(v.By.Era))
		for _, h := range v.Homes {
			of.place(h.entry())
		}
	case registered:
		of := b.era(view.Era(v.By.Era))
		for _, u := range v.Added {
			of.regions[protocol.UID(u)] = true
		}
		for _, u := range v.Removed {
			delete(of.regions, protocol.UID(u))
		}
	case loaded:
		b.hosted(id, h, v.By.fence())
	case changed:
		b.hosted(id, h, v.By.fence())
		for _, i := range v.Added {
			b.set(id)[protocol.EntityID(i)] = true
		}
		for _, i := range v.Removed {
			delete(b.set(id), protocol.EntityID(i))
		}
	}
}

// hosted judges whether a load or a change of remembered ids comes after those of a later hosting. On the
// list of shards the hostings of all shards write.
func (b *book) hosted(id string, h *history, by protocol.Term) {
	switch {
	case by.IsZero():
		b.complain("nodes have tokens", "%s of %s: a node writes without the token of its hosting", id, b.typ)
	case !strings.HasPrefix(id, "ids/"):
	case by.Less(h.by):
		b.complain("no ids of a deposed hosting", "%s of %s: %v is stored after %v", id, b.typ, by, h.by)
	default:
		h.by = by
	}
}

// place notes a home.
func (of *era) place(e protocol.Entry) {
	of.written[e] = true
	if was, there := of.homes[e.Shard]; !there || was.Token.Less(e.Token) {
		of.homes[e.Shard] = e
	}
}

// read judges what a coordinator was told that the journal has.
func (b *book) read(r protocol.StateRead, in protocol.DidRead) {
	if r.By.Less(b.latest) {
		return // a later one may have written since
	}
	of := b.era(r.By.Era)
	switch r.Kind {
	case protocol.StateHomes:
		want := slices.SortedFunc(maps.Values(of.homes),
			func(x, y protocol.Entry) int { return cmp.Compare(x.Shard, y.Shard) })
		if !slices.Equal(in.Homes, want) {
			b.complain("a term reads what was written", "%v of %s reads the homes %v, and written are %v",
				r.By, b.typ, in.Homes, want)
		}
	case protocol.StateRegions:
		if want := slices.Sorted(maps.Keys(of.regions)); !slices.Equal(in.Regions, want) {
			b.complain("a term reads what was written", "%v of %s reads the regions %v, and written are %v",
				r.By, b.typ, in.Regions, want)
		}
	}
}

// told judges a home of which a coordinator tells.
func (b *book) told(of view.Era, e protocol.Entry) {
	if !b.era(of).written[e] {
		b.complain("homes are written before they are told", "of %s: %v is told, and is not in the journal", b.typ, e)
	}
}
