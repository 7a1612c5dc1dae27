package journaled

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/memory"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remember"
	"github.com/coterie-go/coterie/sharding/remember/remembertest"
)

// tool is the token of a caller that nothing fences.
var tool singleton.FencingToken

// open is a store of type T.
func open(t testing.TB, cfg Config) *Store {
	t.Helper()
	cfg.Type = "T"
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// tidied is a store as a region uses it.
type tidied struct{ *Store }

func (s tidied) Update(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, add, remove []protocol.EntityID,
) error {
	defer s.Tidy(ctx)
	return s.Store.Update(ctx, by, shard, add, remove)
}

func (s tidied) List(ctx context.Context, by singleton.FencingToken, add, remove []protocol.ShardID) error {
	defer s.Tidy(ctx)
	return s.Store.List(ctx, by, add, remove)
}

func (s tidied) Load(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID,
) ([]protocol.EntityID, error) {
	defer s.Tidy(ctx)
	return s.Store.Load(ctx, by, shard)
}

func TestLaws(t *testing.T) {
	for name, after := range map[string]int{"a snapshot after each event": 1, "after some": 3, "by default": 0} {
		t.Run(name, func(t *testing.T) {
			stores := func(t testing.TB) (a, b remember.Store) {
				m := &memory.Store{}
				cfg := Config{Journal: m, Snapshots: m, SnapshotAfter: after}
				return tidied{open(t, cfg)}, tidied{open(t, cfg)}
			}
			remembertest.Run(t, stores)
			remembertest.RunFenced(t, stores)
		})
	}
	t.Run("without snapshots", func(t *testing.T) {
		remembertest.Run(t, func(t testing.TB) (a, b remember.Store) {
			m := &memory.Store{}
			return open(t, Config{Journal: m}), open(t, Config{Journal: m})
		})
	})
}

func add(t *testing.T, s *Store, ids ...protocol.EntityID) {
	t.Helper()
	for _, id := range ids {
		if err := (tidied{s}).Update(t.Context(), tool, 1, []protocol.EntityID{id}, nil); err != nil {
			t.Fatal(err)
		}
	}
}

func wantIDs(t *testing.T, s *Store, want ...protocol.EntityID) {
	t.Helper()
	got, err := s.Load(t.Context(), tool, 1)
	slices.Sort(got)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("the set is %q, %v; want %q", got, err, want)
	}
}

// late has the calls of Append that come while it holds fail, and makes them afterwards.
type late struct {
	persistence.Journal
	holds bool
	held  []func() error
}

func (l *late) Append(
	ctx context.Context, h persistence.Hosting, w []persistence.Write,
) ([]persistence.Refusal, error) {
	if !l.holds {
		return l.Journal.Append(ctx, h, w)
	}
	l.held = append(l.held, func() error {
		refused, err := l.Journal.Append(context.WithoutCancel(ctx), h, w)
		if len(refused) > 0 {
			err = refused[0].Err
		}
		return err
	})
	return nil, context.DeadlineExceeded
}

// What a process gave up, or was writing when it died, has no effect after the next load.
func TestNothingIsLateAfterALoad(t *testing.T) {
	m := &memory.Store{}
	slow := &late{Journal: m}
	first, second := open(t, Config{Journal: slow}), open(t, Config{Journal: m})
	add(t, first, "a")
	slow.holds = true
	in, out := []protocol.EntityID{"late"}, []protocol.EntityID{"a"}
	if err := first.Update(t.Context(), tool, 1, in, out); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	wantIDs(t, second, "a")
	if err := slow.held[0](); !errors.Is(err, persistence.ErrConflict) {
		t.Errorf("the late write got %v, want a conflict", err)
	}
	wantIDs(t, second, "a")
}

// A change that a deposed owner makes again after a conflict is refused, through its own door and through
// that of its successor: what the successor remembers stays.
func TestADeposedOwnerWritesNothing(t *testing.T) {
	m := &memory.Store{}
	cfg := Config{Journal: m, Snapshots: m, SnapshotAfter: 2}
	former, later := singleton.FencingToken{Era: 1, Epoch: 2}, singleton.FencingToken{Era: 1, Epoch: 3}
	first, second := open(t, cfg), open(t, cfg)
	ids := []protocol.EntityID{"a"}
	if err := first.Update(t.Context(), former, 1, ids, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Load(t.Context(), later, 1); err != nil {
		t.Fatal(err)
	}
	second.Tidy(t.Context()) // the token is in a snapshot now
	for name, s := range map[string]*Store{"its own": first, "its successor's": second, "a new one": open(t, cfg)} {
		before, _, _ := stored(t, m)
		err := s.Update(t.Context(), former, 1, nil, ids)
		_, loading := s.Load(t.Context(), former, 1)
		for call, err := range map[string]error{"Update": err, "Load": loading} {
			if !errors.Is(err, remember.ErrFenced) || !errors.Is(err, persistence.ErrFenced) {
				t.Errorf("%s through %s door: got %v, want that it is fenced", call, name, err)
			}
		}
		if events, _, _ := stored(t, m); events != before {
			t.Errorf("through %s door %d events were written", name, events-before)
		}
	}
	got, err := second.Load(t.Context(), later, 1)
	if err != nil || !slices.Equal(got, ids) {
		t.Errorf("the successor has %q, %v", got, err)
	}
}

// A change whose answer is lost is repeated by its caller, and is there once.
func TestLostAnswers(t *testing.T) {
	m := &memory.Store{}
	s := open(t, Config{Journal: m, Snapshots: m, SnapshotAfter: 2})
	lost := errors.New("the answer is lost")
	for i := range 5 {
		id := []protocol.EntityID{protocol.EntityID(fmt.Sprint(i))}
		m.After(func(_ context.Context, call string) error {
			if call == "Append" {
				return lost
			}
			return nil
		})
		err := s.Update(t.Context(), tool, 1, id, nil)
		if !errors.Is(err, lost) || !strings.Contains(err.Error(), "ids/1") {
			t.Errorf("got %v, want the store's error with the name of the history", err)
		}
		m.After(nil)
		if err := s.Update(t.Context(), tool, 1, id, nil); err != nil {
			t.Fatal(err)
		}
	}
	wantIDs(t, s, "0", "1", "2", "3", "4")
}

// stored counts what the journal has of the set of shard 1.
func stored(t *testing.T, m *memory.Store) (events int, end persistence.End, snapshots []uint64) {
	t.Helper()
	h, id := persistence.Hosting{Type: TypeName("T"), Shard: 1}, protocol.EntityID("ids/1")
	ends, err := m.Load(t.Context(), h, []persistence.Read{{Entity: id}}, func(int, persistence.Event) error {
		events++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for below := uint64(0); ; {
		found := uint64(0)
		if err := m.LoadSnapshots(t.Context(), h, []persistence.SnapshotRead{{Entity: id, Below: below}},
			func(_ int, s persistence.Snapshot) error { found = s.Seq; return nil }); err != nil {
			t.Fatal(err)
		}
		if found == 0 {
			return events, ends[0], snapshots
		}
		snapshots = append(snapshots, found)
		below = found
	}
}

// As many snapshots stay as were asked for, and the events after the oldest of them.
func TestRetention(t *testing.T) {
	for keep, want := range map[int][]uint64{1: {20}, 2: {20, 15}, 3: {20, 15, 10}} {
		m := &memory.Store{}
		s := open(t, Config{Journal: m, Snapshots: m, SnapshotAfter: 5, KeepSnapshots: keep})
		for i := range 22 {
			add(t, s, protocol.EntityID(fmt.Sprint(i%3)))
		}
		events, end, snapshots := stored(t, m)
		if oldest := want[len(want)-1]; !slices.Equal(snapshots, want) ||
			end != (persistence.End{Deleted: oldest, Last: 22}) || events != int(22-oldest) {
			t.Errorf("keeping %d: snapshots %v, %d events, %+v", keep, snapshots, events, end)
		}
		wantIDs(t, s, "0", "1", "2")
	}
}

// damaged has snapshots of some numbers damaged: as the store finds it, and as the decoder does.
type damaged struct {
	persistence.Snapshots
	bodies map[uint64][]byte
}

func (d damaged) LoadSnapshots(ctx context.Context, h persistence.Hosting, reads []persistence.SnapshotRead,
	each func(int, persistence.Snapshot) error) error {
	return d.Snapshots.LoadSnapshots(ctx, h, reads, func(i int, s persistence.Snapshot) error {
		if body, is := d.bodies[s.Seq]; is {
			s.Body = body
		}
		return each(i, s)
	})
}

// A damaged snapshot is told of, and an older one taken with the events after it. When none is left
// and the events were deleted, the load fails: an empty set would be a lie.
func TestDamagedSnapshots(t *testing.T) {
	m, log := &memory.Store{}, &bytes.Buffer{}
	bad := damaged{Snapshots: m, bodies: map[uint64][]byte{}}
	cfg := Config{Journal: m, Snapshots: bad, SnapshotAfter: 5, Logger: slog.New(slog.NewTextHandler(log, nil))}
	s := open(t, cfg)
	for i := range 11 {
		add(t, s, protocol.EntityID(string(rune('a'+i))))
	}
	all := []protocol.EntityID{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"}
	for seq, body := range map[uint64][]byte{10: nil, 5: {1, 2, 3}} {
		clear(bad.bodies)
		bad.bodies[seq] = body
		log.Reset()
		wantIDs(t, open(t, cfg), all...)
		if told := strings.Contains(log.String(), "damaged"); told != (seq == 10) {
			t.Errorf("with snapshot %d damaged the log says %q", seq, log)
		}
	}
	bad.bodies[10], bad.bodies[5] = nil, nil
	if ids, err := open(t, cfg).Load(t.Context(), tool, 1); !errors.Is(err, persistence.ErrDamaged) {
		t.Errorf("without a sound snapshot: %q, %v", ids, err)
	}
}

// A snapshot that fails costs no change, and the next one is tried after as many events again.
func TestFailingSnapshots(t *testing.T) {
	m, log := &memory.Store{}, &bytes.Buffer{}
	s := open(t, Config{
		Journal: m, Snapshots: m, SnapshotAfter: 5, KeepSnapshots: 1, Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	m.Before(func(_ context.Context, call string) error {
		if call == "SaveSnapshots" {
			return persistence.ErrTooLarge
		}
		return nil
	})
	add(t, s, "a", "b", "c", "d", "e", "f", "g")
	if n := strings.Count(log.String(), "no snapshot"); n != 1 {
		t.Errorf("%d lines of one snapshot that failed: %s", n, log)
	}
	m.Before(nil)
	add(t, s, "h", "i", "j")
	events, end, snapshots := stored(t, m)
	if events != 0 || end.Deleted != 10 || !slices.Equal(snapshots, []uint64{10}) {
		t.Errorf("afterwards: %d events, %+v, snapshots %v", events, end, snapshots)
	}
	wantIDs(t, s, "a", "b", "c", "d", "e", "f", "g", "h", "i", "j")
}

// No call makes a snapshot, and none waits for one that hangs. Of what is due several times there is
// one.
func TestSnapshotsHoldNothingUp(t *testing.T) {
	m := &memory.Store{}
	s := open(t, Config{Journal: m, Snapshots: m, SnapshotAfter: 2, KeepSnapshots: 1})
	begun, goOn, saves := make(chan struct{}), make(chan struct{}), 0
	m.Before(func(_ context.Context, call string) error {
		if call == "SaveSnapshots" {
			saves++
			close(begun)
			<-goOn
		}
		return nil
	})
	update := func(ids ...protocol.EntityID) {
		for _, id := range ids {
			if err := s.Update(t.Context(), tool, 1, []protocol.EntityID{id}, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	update("a", "b", "c")
	if saves != 0 {
		t.Error("a call makes a snapshot itself")
	}
	done := make(chan struct{})
	go func() { s.Tidy(t.Context()); close(done) }()
	<-begun
	update("d", "e", "f")
	wantIDs(t, s, "a", "b", "c", "d", "e", "f")
	close(goOn)
	<-done
	if _, end, snapshots := stored(t, m); saves != 1 || end.Deleted != 3 || !slices.Equal(snapshots, []uint64{3}) {
		t.Errorf("%d saved, %+v, snapshots %v", saves, end, snapshots)
	}
}

// What is removed is forgotten, and remembering begins anew. Another type keeps its ids.
func TestRemove(t *testing.T) {
	m := &memory.Store{}
	add(t, open(t, Config{Journal: m, Snapshots: m, SnapshotAfter: 2}), "a", "b", "c")
	if held, err := Holds(t.Context(), m, "U"); err != nil || held != (persistence.Held{}) {
		t.Errorf("of another type there is %v, %v", held, err)
	}
	held, err := Holds(t.Context(), m, "T")
	if err != nil || held.Events != 3 || held.Snapshots != 1 {
		t.Errorf("it holds %v, %v", held, err)
	}
	if _, err := Remove(t.Context(), m, "U"); err != nil {
		t.Error(err)
	}
	wantIDs(t, open(t, Config{Journal: m, Snapshots: m}), "a", "b", "c")
	if gone, err := Remove(t.Context(), m, "T"); err != nil || gone.Events != 4 {
		t.Errorf("it removed %v, %v", gone, err)
	}
	s := open(t, Config{Journal: m, Snapshots: m})
	wantIDs(t, s)
	add(t, s, "d")
	wantIDs(t, s, "d")
}

// Loads leave events too: a snapshot is due after as many of them as of changes.
func TestLoadsAreCutToo(t *testing.T) {
	m := &memory.Store{}
	s := open(t, Config{Journal: m, Snapshots: m, SnapshotAfter: 5, KeepSnapshots: 1})
	for range 7 {
		if _, err := (tidied{s}).Load(t.Context(), tool, 1); err != nil {
			t.Fatal(err)
		}
	}
	if events, end, snapshots := stored(t, m); events != 2 || end != (persistence.End{Deleted: 5, Last: 7}) ||
		!slices.Equal(snapshots, []uint64{5}) {
		t.Errorf("%d events, %+v, snapshots %v", events, end, snapshots)
	}
}

// A list of shards that has something else in it is damaged, and is not read in part.
func TestAListThatHoldsSomethingElse(t *testing.T) {
	m := &memory.Store{}
	s := open(t, Config{Journal: m})
	other := changed{Added: [][]byte{[]byte("1"), []byte("x")}}
	if err := s.update(t.Context(), s.listing(), other); err != nil {
		t.Fatal(err)
	}
	if shards, err := s.Shards(t.Context(), tool); !errors.Is(err, persistence.ErrDamaged) || shards != nil {
		t.Errorf("%v, %v", shards, err)
	}
}

// An event that cannot be read fails the load.
func TestPoisonedEvent(t *testing.T) {
	m := &memory.Store{}
	add(t, open(t, Config{Journal: m}), "a")
	if _, err := m.Append(t.Context(), persistence.Hosting{Type: TypeName("T"), Shard: 1}, []persistence.Write{{
		Entity: "ids/1", After: 1, ID: 7, Events: []persistence.Event{{Seq: 2, Name: "unknown", Version: 1}},
	}}); err != nil {
		t.Fatal(err)
	}
	_, err := open(t, Config{Journal: m}).Load(t.Context(), tool, 1)
	if !errors.Is(err, persistence.ErrDamaged) || !strings.Contains(err.Error(), "event 2") {
		t.Errorf("got %v", err)
	}
}

// The name that is stored stays, and no entity type can have it.
func TestTypeName(t *testing.T) {
	name := TypeName("T")
	if name != "coterie/remembered/T" {
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
	d := Config{}.histories()
	if d.SnapshotAfter != 1000 || d.KeepSnapshots != 2 || d.Logger != slog.Default() {
		t.Errorf("defaults: %+v", d)
	}
}
