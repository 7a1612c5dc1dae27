package persistencetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Opened is a store under test. A law uses entity types of its own, so that the store may hold
// others.
type Opened struct {
	// A and B are two doors to the same store, as two nodes have. They may be the same.
	A, B Door
	// Reopen ends all that is open, and opens the same store again: what was answered nil is there.
	// Nil if the adapter keeps nothing.
	Reopen func(t testing.TB) *Opened
	// Damage spoils the body of a stored event, as a broken disk does. Nil if the adapter leaves that
	// law out.
	Damage func(typ string, id protocol.EntityID, seq uint64) error
}

// Door is what an adapter implements of the port; nil for a part that it does not.
type Door struct {
	Journal   persistence.Journal
	Snapshots persistence.Snapshots
	States    persistence.States
	Reader    persistence.Reader
}

// DoorOf returns the door of a store that implements some of the interfaces, or all.
func DoorOf(store any) Door {
	var d Door
	d.Journal, _ = store.(persistence.Journal)
	d.Snapshots, _ = store.(persistence.Snapshots)
	d.States, _ = store.(persistence.States)
	d.Reader, _ = store.(persistence.Reader)
	return d
}

// Run holds an adapter to the laws. open is called once for each law.
func Run(t *testing.T, open func(t testing.TB) *Opened) {
	ran := false
	for _, l := range laws {
		t.Run(l.name, func(t *testing.T) {
			o := open(t)
			if !l.needs(o.A) {
				return // the adapter does not implement what the law is about
			}
			ran = true
			l.run(&law{tb: t, store: o, reopen: func(o *Opened) *Opened { return o.Reopen(t) }})
		})
	}
	if !ran {
		t.Error("the doors of the store have nothing behind them")
	}
}

// tb is what the laws need of a test. rapid.T has it, too.
type tb interface {
	rapid.TB
	Context() context.Context
}

// law is a law that runs.
type law struct {
	tb
	store  *Opened
	reopen func(*Opened) *Opened
	types  int // how many entity types it has begun before the one at hand
}

// lawRow is one law of the suite.
type lawRow struct {
	name  string
	needs func(Door) bool
	run   func(*law)
}

var laws = []lawRow{
	{"journal: histories", hasJournal, journalHistories},
	{"journal: a later hosting fences", hasJournal, journalFenced},
	{"journal: a fence at one time with writes", hasJournal, journalFencedMeanwhile},
	{"journal: a write is repeated", hasJournal, journalRepeated},
	{"journal: a write is whole", hasJournal, journalWhole},
	{"journal: refusals leave the other writes", hasJournal, journalRefusals},
	{"journal: deletions keep the number", hasJournal, journalDeletions},
	{"journal: limits", hasJournal, journalLimits},
	{"journal: strange names", hasJournal, journalStrange},
	{"journal: ended contexts", hasJournal, journalGivenUp},
	{"journal: large calls", hasJournal, journalLarge},
	{"journal: many shards", hasJournal, journalManyShards},
	{"journal: whose memory it is", hasJournal, journalMemory},
	{"snapshots: histories", hasSnapshots, snapshotHistories},
	{"snapshots: a later hosting fences", hasSnapshots, snapshotsFenced},
	{"snapshots: limits", hasSnapshots, snapshotLimits},
	{"snapshots: ended contexts", hasSnapshots, snapshotsGivenUp},
	{"states: histories", hasStates, stateHistories},
	{"states: a later hosting fences", hasStates, statesFenced},
	{"states: limits", hasStates, stateLimits},
	{"states: deletions keep nothing", hasStates, deletedStates},
	{"states: ended contexts", hasStates, statesGivenUp},
	{"one fence for all", hasAll, oneFence},
	{"reader: what is asked for", hasReader, readerSelects},
	{"reader: slices that there are not", hasReader, readerRanges},
	{"reader: goes on at each offset", hasReader, readerResumes},
	{"reader: goes on while writers append", hasReader, readerMeanwhile},
	{"reader: live", hasReader, readerLive},
	{"reader: a damaged event", hasReader, readerDamage},
}

func hasJournal(d Door) bool   { return d.Journal != nil }
func hasSnapshots(d Door) bool { return d.Snapshots != nil }
func hasStates(d Door) bool    { return d.States != nil }
func hasReader(d Door) bool    { return d.Journal != nil && d.Reader != nil }
func hasAll(d Door) bool       { return d.Journal != nil && (d.Snapshots != nil || d.States != nil) }

// hosting is one stay of a shard of a type that no other law has.
func (l *law) hosting(shard protocol.ShardID, token uint64) persistence.Hosting {
	return persistence.Hosting{Type: l.typ(), Shard: shard, Token: tokenOf(token)}
}

// typ names the type at hand; next begins another one.
func (l *law) typ() string { return fmt.Sprintf("%s %d", l.Name(), l.types) }

func (l *law) next() { l.types++ }

// tokenOf makes tokens that differ in any of their parts, in the order of n.
func tokenOf(n uint64) singleton.FencingToken {
	return singleton.FencingToken{
		Era: 1 << 62, Epoch: view.Epoch(n >> 4), Up: uint32(n >> 2 & 3), Seq: n & 3,
	}
}

// again stops the store and opens it again, if it can.
func (l *law) again() {
	if l.store.Reopen != nil {
		l.store = l.reopen(l.store)
	}
}

// doors returns both doors.
func (l *law) doors() []Door { return []Door{l.store.A, l.store.B} }

func must(t tb, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// is fails the law unless err is what is wanted.
func is(t tb, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%s: got %v, want %v", what, err, want)
	}
}
