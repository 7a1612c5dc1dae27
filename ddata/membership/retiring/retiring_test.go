package retiring

import (
	"fmt"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

var members = []view.UID{view.DrawUID(noon, 0, 0), view.DrawUID(noon, 0, 1), view.DrawUID(noon, 0, 2)}

// scene is one in which three members are Up, and so many incarnations have come.
func scene(came uint32) Scene {
	v := &view.View{Format: format.Ages, Cluster: 1, Epoch: 7, LastUp: 40, Ages: (&view.Ages{}).Counting(came)}
	for i := range 3 {
		v.Members = append(v.Members, view.Member{
			UID: members[i], Addr: fmt.Sprint("n", i, ":1"), Roles: []string{"x"},
			Status: view.Up, UpNumber: uint32(38 + i), Formats: format.Build(),
		})
	}
	s := Scene{
		Now: noon, View: v, Next: v.Next(v.Hash()), Settled: v.Epoch, After: 10,
		Agreed:    func(view.UID) view.Epoch { return v.Epoch },
		Reachable: func(view.UID) bool { return true },
	}
	s.Next.Members = append([]view.Member(nil), v.Members...)
	s.Next.LastUp++
	return s
}

// A retirement begins when enough have come, and the cluster is calm.
func TestBegin(t *testing.T) {
	s := scene(10)
	if !s.Begin() || s.Next.Check() != nil || s.Next.Ages.Ending.Empty() || s.View.Ages.Came != 10 {
		t.Fatalf("%v", s.Next)
	}
	for what, change := range map[string]func(*Scene){
		"none comes up":          func(s *Scene) { s.Next.LastUp-- },
		"too few have come":      func(s *Scene) { s.Next.Ages = (&view.Ages{}).Counting(9) },
		"more members":           func(s *Scene) { s.After, s.Next.Ages = 0, (&view.Ages{}).Counting(2) },
		"another is under way":   func(s *Scene) { s.View.Ages, _ = s.View.Ages.Begin(noon, s.View.Members, 0) },
		"the level has it not":   func(s *Scene) { s.Next.Format-- },
		"the view counts not":    func(s *Scene) { s.View.Ages = nil },
		"one is not heard":       func(s *Scene) { s.Reachable = func(u view.UID) bool { return u != members[1] } },
		"one leaves":             func(s *Scene) { s.Next.Members[0].Status = view.Leaving },
		"one goes":               func(s *Scene) { s.Next.Members = s.Next.Members[1:] },
		"one comes":              func(s *Scene) { s.Next.Members[2].UID++ },
		"keys move":              func(s *Scene) { s.Next.Moving = []string{"k"} },
		"keys have moved":        func(s *Scene) { s.View.Moving = []string{"k"} },
		"the cluster shuts down": func(s *Scene) { s.Next.Closing = true },
	} {
		s := scene(10)
		if change(&s); s.Begin() {
			t.Errorf("%s, and it begins", what)
		}
	}
}

// ending is a scene in which a retirement is under way.
func ending() Scene {
	s := scene(10)
	s.View.Ages, _ = s.View.Ages.Begin(noon, s.View.Members, 0)
	s.View.Ages = s.View.Ages.Counting(2)
	s.Next.Ages = s.View.Ages
	return s
}

// A retirement ends when all members have agreed under the installed view, and all before is settled.
func TestEnd(t *testing.T) {
	s := ending()
	if !s.End(false) || s.Next.Check() != nil || s.Next.Ages.AgreedIn != s.View.Epoch || s.Next.Ages.Came != 2 ||
		s.Next.Ages.Ended.Below != s.View.Ages.Ending.Below || !s.Next.Ages.Ending.Empty() {
		t.Fatalf("%v", s.Next)
	}
	s = ending()
	s.View.Members[0].Roles = nil // it has no data
	s.Agreed = func(u view.UID) view.Epoch {
		if u == s.View.Members[0].UID {
			return 0
		}
		return s.View.Epoch
	}
	if !s.End(false) {
		t.Error("a member without data holds it up")
	}
	for what, change := range map[string]func(*Scene){
		"none is under way":      func(s *Scene) { s.View.Ages = nil },
		"a view is not settled":  func(s *Scene) { s.Settled-- },
		"all said so in another": func(s *Scene) { s.Agreed = func(view.UID) view.Epoch { return s.View.Epoch - 1 } },
		"one that goes has not": func(s *Scene) {
			s.Next.Members = s.Next.Members[1:]
			s.Agreed = but(s.Agreed, members[0])
		},
		"a learner has not": func(s *Scene) {
			s.View.Members[2].Status = view.Joining
			s.Agreed = but(s.Agreed, members[2])
		},
		"one has said it of no one": func(s *Scene) { s.Agreed = but(s.Agreed, members[1]) },
	} {
		s := ending()
		if change(&s); s.End(false) {
			t.Errorf("%s, and it ends", what)
		}
	}
}

func but(agreed func(view.UID) view.Epoch, not view.UID) func(view.UID) view.Epoch {
	return func(u view.UID) view.Epoch {
		if u == not {
			return 0
		}
		return agreed(u)
	}
}

// What has come is counted from the level on that has it.
func TestCount(t *testing.T) {
	s := scene(10)
	s.Next.LastUp++
	if s.Count(); s.Next.Ages.Came != 12 || s.View.Ages.Came != 10 {
		t.Errorf("%d", s.Next.Ages.Came)
	}
	s = scene(10)
	s.View.Ages, s.Next.Ages = nil, nil
	if s.Count(); s.Next.Ages.Came != 41 {
		t.Errorf("%d at the first view of the level", s.Next.Ages.Came)
	}
	s.Next.Ages, s.Next.Format = nil, format.Ages-1
	if s.Count(); s.Next.Ages != nil {
		t.Error("a view of a level before counts")
	}
}

// A word stands in one view, when it is stored, and is said each interval.
func TestWord(t *testing.T) {
	var w Word
	v := ending().View
	stored := uint64(3)
	isStored := func(r uint64) bool { return r <= stored }
	if w.Stands(v, isStored) {
		t.Error("the zero word stands")
	}
	if w.Give(v.Epoch, 4); w.Stands(v, isStored) {
		t.Error("it stands before it is stored")
	}
	if stored = 4; !w.Stands(v, isStored) {
		t.Error("it does not stand")
	}
	if say, _ := w.Say(noon, time.Second); !say {
		t.Error("it is not said at once")
	}
	if say, next := w.Say(noon.Add(time.Second-1), time.Second); say || next != noon.Add(time.Second) {
		t.Error("it is said too soon")
	}
	later := *v
	if later.Epoch++; w.Stands(&later, isStored) {
		t.Error("it stands in the next view")
	}
	if later.Epoch, later.Ages = v.Epoch, nil; w.Stands(&later, isStored) {
		t.Error("it stands where no retirement is under way")
	}
}
