package history

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/memory"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
)

// The value of the tests is a list of numbers, to which each event adds one.
type (
	list  struct{ all []int }
	added struct{ N int }
	whole struct{ All []int }
)

var form = Form[*list]{
	Events:    schema.CBOR(schema.Type[any]("added", added{})),
	Snapshots: schema.CBOR(schema.Type[any]("whole", whole{})),
	Empty:     func() *list { return &list{} },
	Apply: func(to *list, event any) {
		switch e := event.(type) {
		case added:
			to.all = append(to.all, e.N)
		case whole:
			to.all = e.All
		}
	},
	Whole: func(l *list) any { return whole{l.all} },
}

var by = persistence.Hosting{Type: "T", Shard: 1}

// open is the history of one entity, and its log.
func open(cfg Config) (*History[*list], *bytes.Buffer) {
	log := &bytes.Buffer{}
	cfg.What, cfg.Logger = "lists", slog.New(slog.NewTextHandler(log, nil))
	cfg = cfg.WithDefaults()
	return New(&cfg, &form, "a"), log
}

// change adds the numbers from first to last, and makes the snapshots that are due. It returns the
// numbers with which they were.
func change(t *testing.T, h *History[*list], first, last int) (cuts []int) {
	t.Helper()
	for n := first; n <= last; n++ {
		due, err := h.Change(t.Context(), by, added{n})
		if err != nil {
			t.Fatal(err)
		}
		if due {
			cuts = append(cuts, n)
			h.Cut(t.Context(), by)
		}
	}
	return cuts
}

// stored is what the stores have: the end of the history, and the numbers of the snapshots.
func stored(t *testing.T, j persistence.Journal, s persistence.Snapshots) (end persistence.End, snapshots []uint64) {
	t.Helper()
	ends, err := j.Load(t.Context(), by, []persistence.Read{{Entity: "a"}},
		func(int, persistence.Event) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	for below, more := uint64(0), true; more; {
		more = false
		if err := s.LoadSnapshots(t.Context(), by, []persistence.SnapshotRead{{Entity: "a", Below: below}},
			func(_ int, sn persistence.Snapshot) error {
				below, more, snapshots = sn.Seq, true, append(snapshots, sn.Seq)
				return nil
			}); err != nil {
			t.Fatal(err)
		}
	}
	return ends[0], snapshots
}

func wantList(t *testing.T, h *History[*list], last int) {
	t.Helper()
	l, err := h.Load(t.Context(), by)
	if err != nil || len(l.all) != last || last > 0 && l.all[last-1] != last || !slices.IsSorted(l.all) {
		t.Errorf("%v, %v; want 1 to %d", l, err, last)
	}
}

// What is loaded after a mark has the mark, which is stored, and what others wrote before it.
func TestLoadAfter(t *testing.T) {
	m := &memory.Store{}
	one, _ := open(Config{Journal: m})
	two, _ := open(Config{Journal: m})
	change(t, one, 1, 2)
	once := false
	m.Before(func(ctx context.Context, call string) error {
		if call == "Append" && !once { // a write comes between the read and the mark
			once = true
			change(t, one, 3, 3)
		}
		return nil
	})
	l, due, err := two.LoadAfter(t.Context(), by, added{4})
	if err != nil || due || !slices.Equal(l.all, []int{1, 2, 3, 4}) {
		t.Errorf("%v, %v, %v", l, due, err)
	}
	wantList(t, one, 4)
}

// refusing refuses every snapshot.
type refusing struct{ *memory.Store }

func (refusing) SaveSnapshots(_ context.Context, _ persistence.Hosting, all []persistence.Snapshot) (
	refused []persistence.Refusal, err error) {
	for i := range all {
		refused = append(refused, persistence.Refusal{Index: i, Err: persistence.ErrTooLarge})
	}
	return refused, nil
}

// A snapshot that the store refuses stands for nothing: no event is deleted.
func TestARefusedSnapshot(t *testing.T) {
	m := &memory.Store{}
	h, log := open(Config{Journal: m, Snapshots: refusing{m}, SnapshotAfter: 3, KeepSnapshots: 1})
	if cuts := change(t, h, 1, 7); !slices.Equal(cuts, []int{3, 6}) {
		t.Error("snapshots were due at", cuts)
	}
	if end, _ := stored(t, m, m); end != (persistence.End{Last: 7}) {
		t.Errorf("%+v", end)
	}
	if n := strings.Count(log.String(), "no snapshot"); n != 2 {
		t.Errorf("%d lines of 2 snapshots: %s", n, log)
	}
	wantList(t, h, 7)
}

// A cut that fails before it has a snapshot is not tried again with each event either.
func TestACutThatDoesNotRead(t *testing.T) {
	for _, call := range []string{"Load", "LoadSnapshots"} {
		m := &memory.Store{}
		h, log := open(Config{Journal: m, Snapshots: m, SnapshotAfter: 3, KeepSnapshots: 1})
		change(t, h, 1, 1) // it knows the end
		m.Before(func(_ context.Context, c string) error {
			if c == call {
				return errors.New("the store is slow")
			}
			return nil
		})
		if cuts := change(t, h, 2, 7); !slices.Equal(cuts, []int{3, 6}) {
			t.Errorf("%s: snapshots were due at %v", call, cuts)
		}
		m.Before(nil)
		if !strings.Contains(log.String(), "the store is slow") {
			t.Errorf("%s: the log says %q", call, log)
		}
		change(t, h, 8, 9)
		if end, all := stored(t, m, m); end.Deleted != 9 || !slices.Equal(all, []uint64{9}) {
			t.Errorf("%s: %+v, %v", call, end, all)
		}
	}
}

// Nothing is deleted before there are as many snapshots as are kept.
func TestFewSnapshots(t *testing.T) {
	m := &memory.Store{}
	h, _ := open(Config{Journal: m, Snapshots: m, SnapshotAfter: 3, KeepSnapshots: 3})
	for _, c := range []struct {
		last    int
		deleted uint64
		all     []uint64
	}{{5, 0, []uint64{3}}, {8, 0, []uint64{6, 3}}, {9, 3, []uint64{9, 6, 3}}, {12, 6, []uint64{12, 9, 6}}} {
		end, _ := stored(t, m, m)
		change(t, h, int(end.Last)+1, c.last)
		if end, all := stored(t, m, m); end.Deleted != c.deleted || !slices.Equal(all, c.all) {
			t.Errorf("after %d: %+v, %v", c.last, end, all)
		}
	}
}

// A damaged snapshot counts: another one is due after as many events as ever.
func TestWhenTheNextSnapshotIsDue(t *testing.T) {
	m := &memory.Store{}
	cfg := Config{Journal: m, Snapshots: m, SnapshotAfter: 5}
	h, _ := open(cfg)
	change(t, h, 1, 11)
	if _, err := m.SaveSnapshots(t.Context(), by, []persistence.Snapshot{
		{Entity: "a", Seq: 10, Name: "whole", Version: 1, Body: []byte{1}},
	}); err != nil {
		t.Fatal(err)
	}
	next, log := open(cfg)
	wantList(t, next, 11)
	if !strings.Contains(log.String(), "damaged") {
		t.Errorf("the log says %q", log)
	}
	if cuts := change(t, next, 12, 16); !slices.Equal(cuts, []int{15}) {
		t.Error("snapshots were due at", cuts)
	}
}
