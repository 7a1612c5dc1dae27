package record

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/defect"
)

func sampleView() *view.View {
	return &view.View{
		Format: format.Initial, Cluster: 7, Epoch: 3, LastUp: 2, Era: 12,
		Unsettled: []view.DiskSet{{Epoch: 1, Role: "x", Disks: []view.DiskID{4, 5}}},
		Members: []view.Member{
			{
				UID: 1, Addr: "a:1", Roles: []string{"x", "y"}, Status: view.Up, UpNumber: 1, Disk: 4,
				Formats: format.Build(),
			},
			{UID: 3, Addr: "c:1", Status: view.Leaving, UpNumber: 2, Disk: 5, Formats: format.Build()},
		},
	}
}

func TestRecordSurvivesTheDisk(t *testing.T) {
	pending := sampleView()
	pending.Epoch++
	for _, r := range []Record{{}, {Last: sampleView()}, {Pending: pending}, {Last: sampleView(), Pending: pending}} {
		got, err := Decode(r.Encode())
		if err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("got %v, %v; want %v", got, err, r)
		}
	}
	for _, b := range [][]byte{{9, 9}, {1, 0x80}, {1, 0x82, 0x01, 0xf6}} {
		if _, err := Decode(b); !errors.Is(err, ErrUnreadable) {
			t.Errorf("% x: %v", b, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(Record{Last: sampleView(), Pending: sampleView()}.Encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Decode(b)
		if err == nil && !bytes.Equal(r.Encode(), must(Decode(r.Encode())).Encode()) {
			t.Fatalf("%v does not survive", r)
		}
	})
}

func must(r Record, err error) Record {
	if err != nil {
		panic(err)
	}
	return r
}

// TestStoreNumbersRecords: a record counts as stored when it was written, or a later one was. The
// driver has one at a time.
func TestStoreNumbersRecords(t *testing.T) {
	s := NewStore("n", true, defect.Set{})
	first := s.Put(Record{})
	if s.Write() == nil || s.Write() != nil {
		t.Error("the driver does not have just one record")
	}
	second, third := s.Put(Record{Settled: 1}), s.Put(Record{Settled: 2})
	if s.IsStored(first) {
		t.Error("stored while it is being written")
	}
	s.Written()
	if !s.IsStored(first) || s.IsStored(second) {
		t.Error("the first alone should be stored")
	}
	r, err := Decode(s.Write())
	if err != nil || r.Settled != 2 || r.Name != "n" {
		t.Errorf("the last record should be written, not %v, %v", r, err)
	}
	s.Written()
	if !s.IsStored(second) || !s.IsStored(third) || s.Write() != nil {
		t.Error("both should be stored, and nothing left to write")
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	if n := NewStore("n", false, defect.Set{}); !n.IsStored(n.Put(Record{})) || n.Write() != nil {
		t.Error("a node without a disk should wait for nothing")
	}
}

// A record of a view that says which incarnations are over has a version of its own.
func TestRecordsOfTwoVersions(t *testing.T) {
	aged := sampleView()
	aged.Format, aged.Ages = format.Ages, (&view.Ages{}).Counting(3)
	for version, r := range map[byte]Record{
		versionAtFirst: {Name: "n", Last: sampleView(), Free: true, Settled: 2},
		Version:        {Name: "n", Last: aged, Clean: Clean{}.With(2, []string{"y", "x"})},
	} {
		b := r.Encode()
		if got, err := Decode(b); b[0] != version || err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("version %d: %v of %d, %v", version, got, b[0], err)
		}
	}
	if got := (Record{Last: aged}).Least(); got != aged.Ages.Least() {
		t.Error(got)
	}
}

// A disk is clean for a node if it is for all of its roles.
func TestClean(t *testing.T) {
	c := Clean{}.With(3, []string{"y", "x"})
	for _, x := range []struct {
		c     Clean
		roles []string
		want  view.UID
	}{
		{c, []string{"x"}, 3}, {c, []string{"x", "y"}, 3}, {c, []string{"x", "z"}, 0}, {c, nil, math.MaxUint64},
		{Clean{}, []string{"x"}, 0}, {c.With(3, []string{"z"}), []string{"x", "z"}, 3},
		{c.With(4, []string{"z"}), []string{"z"}, 4}, {c.With(4, []string{"z"}), []string{"x"}, 0},
		{c.With(2, []string{"z"}), []string{"z"}, 0},
	} {
		if got := x.c.Of(x.roles); got != x.want {
			t.Errorf("%v for %q: up to %v, want %v", x.c, x.roles, got, x.want)
		}
	}
	if !c.Equal(c.With(3, []string{"x"})) || c.Equal(c.With(4, []string{"x", "y"})) {
		t.Error("equal and not")
	}
}
