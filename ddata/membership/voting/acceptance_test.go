package voting

import (
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/arbitration"
	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/nextview"
	"github.com/coterie-go/coterie/ddata/membership/paxos"
	"github.com/coterie-go/coterie/ddata/membership/report"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// slowDisk has stored the records up to one.
type slowDisk struct {
	locked []*view.View
	stored uint64
}

func (d *slowDisk) Lock(v *view.View) uint64 {
	d.locked = append(d.locked, v)
	return uint64(len(d.locked))
}

func (d *slowDisk) IsStored(number uint64) bool { return number <= d.stored }

func (d *slowDisk) Pending() *view.View {
	if len(d.locked) == 0 {
		return nil
	}
	return d.locked[len(d.locked)-1]
}

// threeVoters is the scene of node 1 in a view of three, and the view that drops the third.
func threeVoters() (*Scene, *paxos.Proposal) {
	now := time.Unix(1000, 0)
	v := &view.View{Format: format.Initial, Cluster: 1, Epoch: 5, LastUp: 3}
	for i, addr := range []string{"a", "b", "c"} {
		v.Members = append(v.Members, view.Member{
			UID: view.UID(i + 1), Addr: addr, Status: view.Up, UpNumber: uint32(i + 1), Formats: format.Build(),
		})
	}
	in := view.Install(v, now)
	s := &Scene{Scene: nextview.Scene{Now: now, View: in, Reports: report.NewTable(1, &report.Own{})}}
	s.Reports.Follow(v)
	next := v.Next(in.Digest)
	next.Members = v.Members[:2]
	return s, &paxos.Proposal{View: next}
}

// TestANodePromisesItselfNothing: each other member of a view that is installed is promised a lease, and one whose view
// has no other is free.
func TestANodePromisesItselfNothing(t *testing.T) {
	s, _ := threeVoters()
	granter := NewGranter(Config{Config: nextview.Config{Self: 1, Promise: 6 * time.Second}})
	granter.Install(s.Now, s.View)
	if !granter.Until(1).IsZero() || granter.Until(3) != s.Now.Add(6*time.Second) {
		t.Errorf("promised until %v and %v", granter.Until(1), granter.Until(3))
	}
	if granter.IsFree(s.Now, s.View, s.Reports) {
		t.Error("it is free, and has promised others something")
	}
	alone := *s.View.View
	alone.Members = alone.Members[:1]
	in := view.Install(&alone, s.Now)
	granter.Install(s.Now, in)
	if granter.Grant(1, s.Now); !granter.Until(3).IsZero() || !granter.IsFree(s.Now, in, s.Reports) {
		t.Error("it is not free, or has promised something to a node that is gone")
	}
}

// TestNothingIsGrantedWhileAnAcceptanceIsStored: a grant to a member that the proposal drops would
// stand against what is about to be accepted. It is held back until the disk has the proposal.
func TestNothingIsGrantedWhileAnAcceptanceIsStored(t *testing.T) {
	s, proposal := threeVoters()
	granter, disk := NewGranter(Config{LeaseDuration: 6 * time.Second}), &slowDisk{}
	a := acceptance{
		self: 1, disk: disk, granter: granter, arbiter: arbitration.New(arbitration.Config{
			Self: 1, Strategy: downing.KeepMajority{},
		}),
	}
	var out Output
	p := message.Accept{Cluster: 1, Epoch: 5, Ballot: paxos.Ballot{Round: 1, UID: 2}, Proposal: proposal}
	if answer := a.accept(s, 2, p, &out); answer != nil || a.Frozen() || !a.Holds() {
		t.Fatalf("answered %v before the disk has it", answer)
	}
	lower := message.Accept{Cluster: 1, Epoch: 5, Ballot: paxos.Ballot{Round: 1, UID: 1}, Proposal: proposal}
	if answer, is := a.accept(s, 1, lower, &out).(message.Rejected); !is || answer.Promised != p.Ballot {
		t.Errorf("a lower ballot is answered %v while the disk does not have it", answer)
	}
	if !granter.HoldsBack(3, s.Now) || granter.HoldsBack(2, s.Now) {
		t.Error("the member that goes may be granted something, or one that stays may not")
	}
	disk.stored = 1
	h, ok := a.Release()
	if !ok || h.From != 2 || h.Ballot != p.Ballot {
		t.Fatalf("held %+v, %v", h, ok)
	}
	if answer, is := a.accept(s, 2, p, &out).(message.Accepted); !is || answer.Ballot != p.Ballot || !a.Frozen() {
		t.Errorf("answered %v when the disk has it", answer)
	}
	if len(disk.locked) != 1 || out.Counts.Accepts != 1 {
		t.Errorf("%d records for %d acceptances", len(disk.locked), out.Counts.Accepts)
	}
}
