package view

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/format"
)

// crowd is a view of n full members, each with a disk.
func crowd(n int) *View {
	v := &View{Format: format.Newest, Cluster: 7, Epoch: 3, LastUp: uint32(n), Ages: &Ages{}}
	for i := range n {
		v.Members = append(v.Members, Member{
			UID: UID(1000 + i), Addr: fmt.Sprintf("host-%d:7946", i), Roles: []string{"r"}, Status: Up,
			UpNumber: uint32(i + 1), Disk: DiskID(5000 + i), Formats: format.Build(),
		})
	}
	return v
}

// child decides the next view: some leave, some are let in, some get another status.
func child(t *rapid.T, parent *Installed) *View {
	v := parent.Next(parent.Digest)
	for _, m := range parent.Members {
		if rapid.IntRange(0, 4).Draw(t, "stays") > 0 || len(v.Members) == 0 {
			v.Members = append(v.Members, m)
		}
	}
	for i := range v.Members {
		switch m := &v.Members[i]; {
		case !m.Full():
			v.LastUp++
			m.Status, m.UpNumber, m.Disk = Up, v.LastUp, DiskID(m.UID)
		case rapid.IntRange(0, 4).Draw(t, "leaves") == 0:
			m.Status = Leaving
		}
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "joiners") {
		v.Members = append(v.Members, Member{
			UID: UID(uint64(v.Epoch)*10_000 + uint64(i)), Addr: fmt.Sprintf("new-%d-%d:1", v.Epoch, i), Status: Joining,
			Formats: format.Build(),
		})
	}
	v.Sort()
	v.Inherit(SetsSince(parent.Witnesses(), Epoch(rapid.IntRange(0, int(v.Epoch)).Draw(t, "settled"))))
	return v
}

// A change that was sent adds up to the view, view after view, and to nothing on another parent.
func TestAChangeAddsUpToItsView(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := Install(crowd(rapid.IntRange(1, 8).Draw(t, "members")), time.Time{})
		for range 5 {
			next := child(t, at)
			if err := next.Check(); err != nil {
				t.Fatalf("the test decides no view: %v", err)
			}
			var c Change
			if err := cbor.Records.Decode(cbor.Records.MustAppend(nil, at.ChangeTo(next)), &c); err != nil {
				t.Fatal(err)
			}
			if err := c.Check(); err != nil {
				t.Fatal(err)
			}
			got, err := at.Child(&c)
			if err != nil || got.Hash() != next.Hash() {
				t.Fatalf("%v\ngot  %v\nwant %v", err, got, next)
			}
			was := at
			at = Install(next, time.Time{})
			if _, err := at.Child(&c); !errors.Is(err, ErrOtherParent) {
				t.Fatalf("on another parent: %v", err)
			}
			if err := was.Check(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// What does not add up is no view.
func TestAFalseChangeIsRefused(t *testing.T) {
	at := Install(crowd(3), time.Time{})
	next := at.Next(at.Digest)
	next.Members = slices.Clone(at.Members[1:])
	next.Inherit(at.Witnesses())
	for name, spoil := range map[string]func(c *Change){
		"another hash":       func(c *Change) { c.Hash[3]++ },
		"one more is gone":   func(c *Change) { c.Gone = append(c.Gone, at.Members[1].UID) },
		"none is gone":       func(c *Change) { c.Gone = nil },
		"no member is left":  func(c *Change) { c.Gone = []UID{1000, 1001, 1002} },
		"disks of somewhere": func(c *Change) { c.View.Unsettled = []DiskSet{{Epoch: 2, Role: "r"}} },
	} {
		c := at.ChangeTo(next)
		if _, err := at.Child(c); err != nil {
			t.Fatal(err)
		}
		spoil(c)
		if v, err := at.Child(c); err == nil || errors.Is(err, ErrOtherParent) {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
	for name, c := range map[string]*Change{
		"none": nil, "no view": {}, "no cluster": {View: &View{Epoch: 3}},
		"a first view": {View: &View{Cluster: 1, Epoch: 1}},
		"disorder":     {View: &View{Cluster: 1, Epoch: 2, Members: []Member{at.Members[1], at.Members[0]}}},
		"gone twice":   {View: &View{Cluster: 1, Epoch: 2}, Gone: []UID{3, 3}},
		"a bad member": {View: &View{Cluster: 1, Epoch: 2, Members: []Member{{UID: 1}}}},
		"many sets":    {View: &View{Cluster: 1, Epoch: 2, Unsettled: make([]DiskSet, SetsMax+1)}},
	} {
		if c.Check() == nil {
			t.Errorf("%s is taken for a change", name)
		}
	}
}

// The bytes go with what has changed, not with the members.
func TestAChangeIsSmall(t *testing.T) {
	for _, n := range []int{100, 1000} {
		at := Install(crowd(n), time.Time{})
		next := at.Next(at.Digest)
		next.Members = slices.Clone(at.Members[n/50:])
		next.Inherit(at.Witnesses())
		c := cbor.Records.MustAppend(nil, at.ChangeTo(next))
		if most := 200 + 10*n/50; len(c) > most {
			t.Errorf("%d of %d members are removed: %d bytes, at most %d", n/50, n, len(c), most)
		}
		t.Logf("%d of %d members are removed: %d bytes, the whole view has %d", n/50, n, len(c), len(next.Append(nil)))
	}
}

// Every field of a member tells two apart.
func TestEqualMembers(t *testing.T) {
	m := crowd(1).Members[0]
	m.AppVersion = "1"
	same := reflect.ValueOf(&m).Elem()
	for i := range same.NumField() {
		o := m
		f := reflect.ValueOf(&o).Elem().Field(i)
		switch {
		case !f.CanSet():
			continue
		case f.Kind() == reflect.String:
			f.SetString("other")
		case f.CanUint():
			f.SetUint(f.Uint() + 1)
		case f.Kind() == reflect.Slice:
			f.Set(reflect.ValueOf([]string{"r", "s"}))
		default:
			o.Formats.Max++
		}
		if m.equal(o) {
			t.Errorf("a member that differs in %s is equal", same.Type().Field(i).Name)
		}
	}
}
