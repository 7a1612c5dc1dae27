package ledgers

import (
	"log/slog"
	"strconv"

	"github.com/coterie-go/coterie/proptest/sim/journals"
	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/trace"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/ledger"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remember"
	"github.com/coterie-go/coterie/sharding/remember/journaled"
)

// World is where the coordinators live.
type World interface {
	journals.World
	Violate(check, format string, args ...any)
}

// Counts say what was done. Terms are those that have fenced the journal, Told are the homes of which
// coordinators told.
type Counts struct {
	Terms, Events, Read, Told uint64
	Store                     journals.Counts
}

// Add sums the counts of runs.
func (c *Counts) Add(o Counts) {
	c.Terms += o.Terms
	c.Events += o.Events
	c.Read += o.Read
	c.Told += o.Told
	c.Store.Add(o.Store)
}

// Ledgers are those of a world.
type Ledgers struct {
	w      World
	opt    options.Ledger
	trace  *trace.Trace
	store  *journals.Store // nil: homes and ids lie in the replicated data
	books  map[string]*book
	reads  map[reading]protocol.StateRead // that are under way; only looked up
	counts Counts

	anyHosting bool // planted
}

// New makes the ledgers of a world. They hold nothing.
func New(o *options.Options, planted journals.Defects, w World, rs random.Streams, t *trace.Trace) *Ledgers {
	l := &Ledgers{
		w: w, opt: o.Ledger, trace: t, books: map[string]*book{}, reads: map[reading]protocol.StateRead{},
		anyHosting: planted.AnyHosting,
	}
	if l.opt.Used {
		l.store = journals.New(l.opt.Store, planted, w, rs.Stream("ledgers", 0), t, watcher{l})
	}
	return l
}

// Keep has an entity type of a process keep its homes in the journal, and the ids that it remembers.
func (l *Ledgers) Keep(p journals.Holder, typ string, homes *sharding.Coordination, ids *sharding.Remember) {
	if l.store == nil {
		return
	}
	homes.Ledger = l.homes(p, typ)
	if ids.Entities {
		ids.Store = l.ids(p, typ)
	}
}

func (l *Ledgers) homes(p journals.Holder, typ string) *ledger.Ledger {
	door := l.store.Of(p)
	of, err := ledger.New(ledger.Config{
		Type: typ, Journal: door, Snapshots: door, Logger: slog.New(slog.DiscardHandler),
		SnapshotAfter: l.opt.SnapshotAfter, KeepSnapshots: l.opt.KeepSnapshots,
	})
	if err != nil {
		l.w.Violate("ledger", "%v: %v", p, err)
	}
	return of
}

func (l *Ledgers) ids(p journals.Holder, typ string) remember.Store {
	door := l.store.Of(p)
	of, err := journaled.New(journaled.Config{
		Type: typ, Journal: door, Snapshots: door, Logger: slog.New(slog.DiscardHandler),
		SnapshotAfter: l.opt.SnapshotAfter, KeepSnapshots: l.opt.KeepSnapshots,
	})
	if err != nil {
		l.w.Violate("ledger", "%v: %v", p, err)
	}
	if l.anyHosting {
		return anyHosting{of, door, journaled.TypeName(typ)}
	}
	return of
}

// Heal ends the harm to the journal.
func (l *Ledgers) Heal() {
	if l.store != nil {
		l.store.Heal()
	}
}

// Counts are what was done so far.
func (l *Ledgers) Counts() Counts {
	if l.store != nil {
		l.counts.Store = l.store.Counts()
	}
	return l.counts
}

// Remembered are the ids that the journal has of a shard. ok is false if ids lie in the replicated data.
func (l *Ledgers) Remembered(typ string, s protocol.ShardID) (ids map[protocol.EntityID]bool, ok bool) {
	if l.store == nil {
		return nil, false
	}
	return l.of(journaled.TypeName(typ)).set("ids/" + strconv.FormatUint(uint64(s), 10)), true
}

// of finds the book of a type of the journal.
func (l *Ledgers) of(typ string) *book {
	b := l.books[typ]
	if b == nil {
		b = newBook(typ, l.w.Violate)
		l.books[typ] = b
	}
	return b
}

// watcher hands what takes effect in the journal to the books.
type watcher struct{ l *Ledgers }

var _ journals.Watcher = watcher{}

// Fenced implements journals.Watcher.
func (x watcher) Fenced(h persistence.Hosting) {
	if b := x.l.of(h.Type); b.latest.Less(h.Token) {
		b.latest = h.Token
		x.l.counts.Terms++
	}
}

// Stored implements journals.Watcher.
func (x watcher) Stored(h persistence.Hosting, id protocol.EntityID, e persistence.Event) {
	x.l.trace.Fold(24, uint64(len(id)), e.Seq)
	x.l.counts.Events++
	x.l.trace.Line(x.l.w, "STORED %s of %s: %d for %v", string(id), h.Type, e.Seq, h.Token)
	x.l.of(h.Type).stored(h.Token, string(id), e)
}

// Saved implements journals.Watcher.
func (x watcher) Saved(h persistence.Hosting, s persistence.Snapshot) {
	x.l.of(h.Type).history(string(s.Entity)).saved[s.Seq] = true
}

// Deleted implements journals.Watcher.
func (x watcher) Deleted(h persistence.Hosting, id protocol.EntityID, upTo uint64) {
	if !x.l.of(h.Type).history(string(id)).saved[upTo] {
		x.l.w.Violate("a snapshot before a deletion",
			"%s of %s: events up to %d are deleted, and no snapshot was stored there", string(id), h.Type, upTo)
	}
}

// Replaced implements journals.Watcher: ledgers keep no values.
func (x watcher) Replaced(h persistence.Hosting, id protocol.EntityID, _ persistence.State) {
	x.l.w.Violate("ledger", "%s of %s is replaced", string(id), h.Type)
}
