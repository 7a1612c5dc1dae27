package record

import (
	"bytes"
	"errors"
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
