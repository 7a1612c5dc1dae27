package ledger

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/memory"
	"github.com/coterie-go/coterie/sharding/protocol"
)

func open(t *testing.T, cfg Config) *Ledger {
	t.Helper()
	cfg.Type = "T"
	l, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func termOf(era view.Era, epoch view.Epoch) protocol.Term {
	return protocol.Term{Era: era, Epoch: epoch, Up: 1, Seq: 1}
}

func entry(s protocol.ShardID, home protocol.UID, epoch, seq uint64) protocol.Entry {
	return protocol.Entry{Shard: s, Home: home, Token: protocol.Token{Epoch: epoch, Up: 1, Seq: seq}}
}

func put(t *testing.T, l *Ledger, by protocol.Term, es ...protocol.Entry) error {
	t.Helper()
	cut, err := l.Write(t.Context(), protocol.StateWrite{Kind: protocol.StateHomes, Homes: es, By: by})
	if cut != nil {
		cut(t.Context())
	}
	return err
}

func enroll(t *testing.T, l *Ledger, by protocol.Term, add, remove []protocol.UID) error {
	t.Helper()
	cut, err := l.Write(t.Context(), protocol.StateWrite{
		Kind: protocol.StateRegions, AddRegions: add, RemoveRegions: remove, By: by,
	})
	if cut != nil {
		cut(t.Context())
	}
	return err
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func wantHomes(t *testing.T, l *Ledger, by protocol.Term, want ...protocol.Entry) {
	t.Helper()
	in := l.Read(t.Context(), protocol.StateRead{ID: 7, Kind: protocol.StateHomes, By: by})
	if in.Err != nil || in.ID != 7 || !slices.Equal(in.Homes, want) {
		t.Errorf("the homes are %v, %v; want %v", in.Homes, in.Err, want)
	}
}

func wantRegions(t *testing.T, l *Ledger, by protocol.Term, want ...protocol.UID) {
	t.Helper()
	in := l.Read(t.Context(), protocol.StateRead{ID: 8, Kind: protocol.StateRegions, By: by})
	if in.Err != nil || in.ID != 8 || !slices.Equal(in.Regions, want) {
		t.Errorf("the regions are %v, %v; want %v", in.Regions, in.Err, want)
	}
}

// What one coordinator has written the next one reads, in another process, with snapshots and
// without. Of a shard the highest token stands, in whatever order the writes come.
func TestTheNextCoordinatorReadsWhatWasWritten(t *testing.T) {
	for _, after := range []int{1, 2, 1000} {
		m := &memory.Store{}
		cfg := Config{Journal: m, Snapshots: m, SnapshotAfter: after}
		first, second := open(t, cfg), open(t, cfg)
		one, two := termOf(5, 1), termOf(5, 2)
		wantHomes(t, first, one)
		wantRegions(t, first, one)
		must(t, put(t, first, one, entry(1, 11, 1, 5), entry(2, 12, 1, 6)), put(t, first, one, entry(1, 12, 1, 9)),
			put(t, first, one, entry(1, 13, 1, 7)), put(t, first, one, entry(2, 0, 1, 10)),
			enroll(t, first, one, []protocol.UID{11, 12}, nil),
			enroll(t, first, one, []protocol.UID{13}, []protocol.UID{11}))
		wantHomes(t, second, two, entry(1, 12, 1, 9), entry(2, 0, 1, 10))
		wantRegions(t, second, two, 12, 13)
	}
}

// After the first read of a term nothing of an earlier one takes effect, and the earlier coordinator
// learns of it by its write, its snapshot and its read.
func TestALaterTermDeposes(t *testing.T) {
	m := &memory.Store{}
	cfg := Config{Journal: m, Snapshots: m, SnapshotAfter: 1}
	first, second := open(t, cfg), open(t, cfg)
	one, two := termOf(5, 1), termOf(5, 2)
	wantHomes(t, first, one)
	cut, err := first.Write(t.Context(), protocol.StateWrite{
		Kind: protocol.StateHomes, Homes: []protocol.Entry{entry(1, 11, 1, 5)}, By: one,
	})
	must(t, err)
	wantHomes(t, second, two, entry(1, 11, 1, 5))
	cut(t.Context()) // refused, and no harm
	for what, err := range map[string]error{
		"homes":   put(t, first, one, entry(1, 12, 1, 6)),
		"regions": enroll(t, first, one, []protocol.UID{11}, nil),
		"read":    first.Read(t.Context(), protocol.StateRead{Kind: protocol.StateHomes, By: one}).Err,
	} {
		if !errors.Is(err, protocol.ErrDeposed) || !errors.Is(err, persistence.ErrFenced) {
			t.Errorf("%s of the deposed one: %v", what, err)
		}
	}
	must(t, put(t, second, two, entry(3, 13, 2, 2)))
	wantHomes(t, second, two, entry(1, 11, 1, 5), entry(3, 13, 2, 2))
	wantRegions(t, second, two)
}

// A later term is fenced in the store of the snapshots too, if that is another one.
func TestALaterTermFencesTheSnapshots(t *testing.T) {
	m, shots := &memory.Store{}, &memory.Store{}
	cfg := Config{Journal: m, Snapshots: shots, SnapshotAfter: 1}
	first, second := open(t, cfg), open(t, cfg)
	one, two := termOf(5, 1), termOf(5, 2)
	wantHomes(t, first, one)
	must(t, put(t, first, one, entry(1, 11, 1, 5)))
	wantHomes(t, second, two, entry(1, 11, 1, 5))
	for term, want := range map[protocol.Term]error{one: persistence.ErrFenced, two: nil} {
		_, err := shots.SaveSnapshots(t.Context(), persistence.Hosting{Type: TypeName("T"), Token: term},
			[]persistence.Snapshot{{Entity: "homes", Seq: 99, Name: "x", Version: 1}})
		if !errors.Is(err, want) {
			t.Errorf("a snapshot of term %v: %v, want %v", term, err, want)
		}
	}
}

// Homes and regions of an earlier founding name nodes that are not in this one: they are not read,
// although their tokens are higher within a founding, and what is written now is.
func TestAnotherFoundingBeginsAnew(t *testing.T) {
	for _, after := range []int{1, 1000} {
		m := &memory.Store{}
		cfg := Config{Journal: m, Snapshots: m, SnapshotAfter: after}
		first, second := open(t, cfg), open(t, cfg)
		former, now := termOf(5, 70), termOf(6, 1)
		wantHomes(t, first, former)
		must(t, put(t, first, former, entry(1, 11, 70, 5)), enroll(t, first, former, []protocol.UID{11}, nil))
		wantHomes(t, second, now)
		wantRegions(t, second, now)
		must(t, put(t, second, now, entry(1, 21, 1, 2)), enroll(t, second, now, []protocol.UID{21}, nil))
		wantHomes(t, open(t, cfg), termOf(6, 2), entry(1, 21, 1, 2))
		wantRegions(t, open(t, cfg), termOf(6, 2), 21)
	}
}

// What an earlier founding has written late, behind what the present one wrote, counts for nothing.
func TestLateEventsOfAnotherFounding(t *testing.T) {
	h, r := homesForm.Empty(), regionsForm.Empty()
	for _, era := range []uint64{6, 5} {
		homesForm.Apply(h, placed{term{Era: era}, []home{{Shard: uint32(era), UID: era, Epoch: 1}}})
		regionsForm.Apply(r, registered{term{Era: era}, []uint64{era}, []uint64{6 * (era % 2)}})
	}
	if got := entriesOf(h.in(6)); len(got) != 1 || got[0].Shard != 6 {
		t.Errorf("homes: %v", got)
	}
	if got := uidsOf(r.in(6)); !slices.Equal(got, []protocol.UID{6}) {
		t.Errorf("regions: %v", got)
	}
}

// A founder whose clock is behind is refused until the histories are removed with their
// token. Then it begins with nothing.
func TestRemoveLetsAFounderIn(t *testing.T) {
	m := &memory.Store{}
	cfg := Config{Journal: m, Snapshots: m, SnapshotAfter: 1}
	former, behind := termOf(6, 3), termOf(5, 1)
	wantHomes(t, open(t, cfg), former)
	must(t, put(t, open(t, cfg), former, entry(1, 11, 3, 5)))
	read := protocol.StateRead{Kind: protocol.StateHomes, By: behind}
	if in := open(t, cfg).Read(t.Context(), read); !errors.Is(in.Err, protocol.ErrDeposed) {
		t.Fatalf("the founder reads %v, %v", in.Homes, in.Err)
	}
	held, err := Holds(t.Context(), m, "T")
	if err != nil || held != (persistence.Held{Shards: 1, Events: 1, Snapshots: 1}) {
		t.Errorf("it holds %v, %v", held, err)
	}
	if gone, err := Remove(t.Context(), m, "T"); err != nil || gone != held {
		t.Errorf("it removed %v, %v", gone, err)
	}
	l := open(t, cfg)
	wantHomes(t, l, behind)
	must(t, put(t, l, behind, entry(1, 12, 1, 2)))
	wantHomes(t, l, behind, entry(1, 12, 1, 2))
}

// A write whose answer is lost is repeated by the coordinator, and is there once.
func TestLostAnswers(t *testing.T) {
	m := &memory.Store{}
	l, by := open(t, Config{Journal: m}), termOf(5, 1)
	wantHomes(t, l, by)
	lost := errors.New("the answer is lost")
	m.After(func(_ context.Context, call string) error {
		if call == "Append" {
			return lost
		}
		return nil
	})
	if err := put(t, l, by, entry(1, 11, 1, 5)); !errors.Is(err, lost) || !strings.Contains(err.Error(), "of T") {
		t.Errorf("got %v, want the store's error with the name of the type", err)
	}
	m.After(nil)
	must(t, put(t, l, by, entry(1, 11, 1, 5)))
	wantHomes(t, l, by, entry(1, 11, 1, 5))
}

// As many snapshots stay as were asked for, each after as many events as were asked for, and the
// events after the oldest of them.
func TestRetention(t *testing.T) {
	for _, c := range []struct {
		after, keep int
		deleted     uint64
	}{{5, 1, 20}, {5, 2, 15}, {5, 3, 10}, {7, 2, 14}, {100, 2, 0}, {0, 0, 0}} {
		m := &memory.Store{}
		cfg := Config{Journal: m, Snapshots: m, SnapshotAfter: c.after, KeepSnapshots: c.keep}
		l, by := open(t, cfg), termOf(5, 1)
		wantHomes(t, l, by)
		for i := range uint64(22) {
			must(t, put(t, l, by, entry(1, 11, 1, i+1)), enroll(t, l, by, []protocol.UID{protocol.UID(i + 1)},
				[]protocol.UID{protocol.UID(i)}))
		}
		for _, of := range []protocol.EntityID{"homes", "regions"} {
			events := 0
			ends, err := m.Load(t.Context(), persistence.Hosting{Type: TypeName("T"), Token: by},
				[]persistence.Read{{Entity: of}}, func(int, persistence.Event) error { events++; return nil })
			if err != nil || ends[0] != (persistence.End{Deleted: c.deleted, Last: 22}) || events != int(22-c.deleted) {
				t.Errorf("%s of %+v: %+v and %d events, %v", of, c, ends, events, err)
			}
		}
		wantHomes(t, open(t, cfg), termOf(5, 2), entry(1, 11, 1, 22))
		wantRegions(t, open(t, cfg), termOf(5, 3), 22)
	}
}

// A snapshot, and what is deleted after it, hold up no write, and one that fails costs nothing but
// the room of the events.
func TestSnapshotsHoldNothingUp(t *testing.T) {
	m, log := &memory.Store{}, &bytes.Buffer{}
	l := open(t, Config{
		Journal: m, Snapshots: m, SnapshotAfter: 2, KeepSnapshots: 1, Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	by := termOf(5, 1)
	wantHomes(t, l, by)
	begun, goOn := make(chan struct{}), make(chan struct{})
	m.Before(func(_ context.Context, call string) error {
		if call == "Delete" {
			close(begun)
			<-goOn
			return errors.New("the disk is full")
		}
		return nil
	})
	must(t, put(t, l, by, entry(1, 11, 1, 1)))
	cut, err := l.Write(t.Context(), protocol.StateWrite{
		Kind: protocol.StateHomes, Homes: []protocol.Entry{entry(1, 11, 1, 2)}, By: by,
	})
	if err != nil || cut == nil {
		t.Fatalf("no snapshot after two events: %v", err)
	}
	done := make(chan struct{})
	go func() { cut(t.Context()); close(done) }()
	<-begun
	must(t, put(t, l, by, entry(1, 12, 1, 3)), put(t, l, by, entry(1, 12, 1, 4)))
	close(goOn)
	<-done
	if !strings.Contains(log.String(), "the disk is full") {
		t.Errorf("the log says %q", log)
	}
	m.Before(nil)
	wantHomes(t, l, by, entry(1, 12, 1, 4))
}

// The name that is stored stays, and no entity type can have it.
func TestTypeName(t *testing.T) {
	name := TypeName("T")
	if name != "coterie/coordinator/T" {
		t.Errorf("the histories are those of type %q", name)
	}
	typ := protocol.Config{Identity: protocol.Identity{Name: name}, Self: 1}
	if err := typ.Validate(); err == nil || !strings.Contains(err.Error(), "contains '/'") {
		t.Errorf("an entity type of that name: %v", err)
	}
}

func TestConfig(t *testing.T) {
	m := &memory.Store{}
	for says, cfg := range map[string]Config{
		"Type":    {Journal: m},
		"Journal": {Type: "T"},
		"Journal: is a *memory.Store that is nil":   {Type: "T", Journal: (*memory.Store)(nil)},
		"Snapshots: is a *memory.Store that is nil": {Type: "T", Journal: m, Snapshots: (*memory.Store)(nil)},
		"SnapshotAfter": {Type: "T", Journal: m, SnapshotAfter: -1},
		"KeepSnapshots": {Type: "T", Journal: m, KeepSnapshots: -1},
		"too long":      {Type: strings.Repeat("t", 255), Journal: m},
	} {
		if _, err := New(cfg); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
	if d := (Config{}).histories(); d.SnapshotAfter != 1000 || d.KeepSnapshots != 2 || d.Logger != slog.Default() {
		t.Errorf("defaults: %+v", d)
	}
}

// A Ledger keeps nothing else.
func TestOtherPiecesAreRefused(t *testing.T) {
	l, by := open(t, Config{Journal: &memory.Store{}}), termOf(5, 1)
	if in := l.Read(t.Context(), protocol.StateRead{Kind: protocol.StateIDs, By: by}); !errors.Is(in.Err, errKind) {
		t.Errorf("a read of ids: %v", in.Err)
	}
	_, err := l.Write(t.Context(), protocol.StateWrite{Kind: protocol.StateIDs, By: by})
	if !errors.Is(err, errKind) {
		t.Errorf("a write of ids: %v", err)
	}
}
