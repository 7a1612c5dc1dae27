package bootstrap

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// memoryDisk stores at once.
type memoryDisk struct{ locked []*view.View }

func (d *memoryDisk) Lock(v *view.View) uint64 {
	d.locked = append(d.locked, v)
	return uint64(len(d.locked))
}

func (d *memoryDisk) IsStored(number uint64) bool { return number <= uint64(len(d.locked)) }

func seeker(u view.UID, disk Disk, tune func(*Config)) *Seeker {
	self := view.Member{UID: u, Addr: fmt.Sprint("n", uint64(u)), Status: view.Joining, Formats: format.Build()}
	cfg := Config{
		Common: Common{Name: "c", Addr: self.Addr, ConfigHash: 5, Formats: self.Formats}, Self: self,
		Seeds: []string{"n1", "n2"}, Expect: 2,
		Strategy: downing.KeepMajority{}, Enough: func([]view.Member) bool { return true },
		Beat: time.Second, StableAfter: 5 * time.Second, Timeout: 20 * time.Second, TTL: 8 * time.Second,
		Promise: 6 * time.Second,
	}
	if tune != nil {
		tune(&cfg)
	}
	return New(cfg, rand.New(rand.NewPCG(uint64(u), 1)), disk, Memory{})
}

// TestTwoFound: two seekers that hear each other lock to the view of the lower uid and install it.
func TestTwoFound(t *testing.T) {
	disks := []*memoryDisk{{}, {}}
	ss := []*Seeker{seeker(1, disks[0], nil), seeker(2, disks[1], nil)}
	var installed [2][]*view.View
	now := time.Unix(1000, 0)
	var take func(i int)
	take = func(i int) {
		out := ss[i].Output()
		installed[i] = append(installed[i], out.Install...)
		for _, e := range out.Send {
			j := 0
			if e.Addr == "n2" {
				j = 1
			}
			if len(installed[j]) > 0 || e.Addr == ss[i].cfg.Self.Addr {
				continue
			}
			switch msg := e.Msg.(type) {
			case Probe:
				ss[j].OnProbe(now, msg)
			case Locked:
				ss[j].onLock(now, ss[i].cfg.Self.UID, msg)
			}
			take(j)
		}
	}
	for range 100 {
		now = now.Add(100 * time.Millisecond)
		for i, s := range ss {
			if len(installed[i]) > 0 {
				continue
			}
			s.Advance(now)
			if err := s.Check(); err != nil {
				t.Fatal(err)
			}
			take(i)
		}
	}
	for i, vs := range installed {
		if len(vs) != 1 || len(vs[0].Members) != 2 || !vs[0].Founded || len(disks[i].locked) != 1 ||
			vs[0].Hash() != installed[0][0].Hash() {
			t.Errorf("%d installs %v, locked to %v", i+1, vs, disks[i].locked)
		}
	}
}

// TestJoinerStalls: a node that heard of a cluster founds none, and gives up when it falls silent.
func TestJoinerStalls(t *testing.T) {
	s, now := seeker(1, &memoryDisk{}, func(c *Config) { c.Expect = 1 }), time.Unix(1000, 0)
	s.HeardCluster(now, 7)
	for range 19 {
		s.Advance(now)
		if out := s.Output(); out.Stalled != "" || len(out.Install) > 0 {
			t.Fatalf("%+v", out)
		}
		now = now.Add(time.Second)
	}
	s.Awake(time.Second) // one second of these it did not run
	now = now.Add(time.Second)
	if s.Advance(now); s.Output().Stalled != "" {
		t.Error("time asleep counts")
	}
	now = now.Add(time.Second)
	if s.Advance(now); !strings.Contains(s.Output().Stalled, "nothing more of it for 20s") {
		t.Error("not given up")
	}
}

// TestDiscoveredIsBounded: what a source names without end is cut.
func TestDiscoveredIsBounded(t *testing.T) {
	s, now := seeker(1, &memoryDisk{}, func(c *Config) { c.Discovers, c.Seeds = true, nil }), time.Unix(1000, 0)
	for round := range 20 {
		var all []Contact
		for i := range 3000 {
			all = append(all, Contact{Addr: fmt.Sprintf("%d-%d:1", round, i)})
		}
		s.Discovered(now, all, "")
		s.Discovered(now, nil, strings.Repeat("ü", 4*ReasonMax))
	}
	d := s.discovered
	if len(d.found) != ContactsMax || len(s.Targets()) != ContactsMax || len(d.ours) != ContactsMax ||
		len(d.err) > ReasonMax {
		t.Errorf("%d found, %d probed, %d from discovery, error of %d bytes",
			len(d.found), len(s.Targets()), len(d.ours), len(d.err))
	}
}

// slowDisk stores when it is told.
type slowDisk struct {
	memoryDisk
	stored uint64
}

func (d *slowDisk) IsStored(number uint64) bool { return number <= d.stored }

// founding is a view that node 2 found with node 1.
func founding(e view.Epoch) *view.View {
	return &view.View{
		Format: format.Initial, Cluster: 9, Epoch: e, ConfigHash: 5, Founded: true,
		Members: []view.Member{{UID: 1, Addr: "n1"}, {UID: 2, Addr: "n2"}},
	}
}

// TestALockCountsWhenItIsStored: a node that forgets its lock after a crash could found another
// cluster. So it says that it is locked, and installs, when the disk has the lock.
func TestALockCountsWhenItIsStored(t *testing.T) {
	disk := &slowDisk{}
	s, now, v := seeker(1, disk, nil), time.Unix(1000, 0), founding(1)
	s.Advance(now)
	now = now.Add(10 * time.Second)
	if s.onLock(now, 2, Locked{View: v}); !s.IsLocked() || len(disk.locked) != 1 {
		t.Fatalf("it does not lock itself: %v, %v", s, disk.locked)
	}
	said := func() (locked bool) {
		for _, e := range s.Output().Send {
			_, is := e.Msg.(Locked)
			locked = locked || is
		}
		return locked
	}
	for range 3 {
		now = now.Add(time.Second)
		s.Advance(now)
		s.onLock(now, 2, Locked{View: v})
		if n := len(s.out.Install); n > 0 || said() {
			t.Fatalf("it says so before its disk has it, or installs %d views", n)
		}
	}
	disk.stored = 1
	s.LockStored(now)
	if n := len(s.out.Install); n != 1 || !said() {
		t.Errorf("it does not say so when its disk has it, or installs %d views", n)
	}
}

// TestNoSecondViewOfAnEpoch: a disk that knows of a view signs no other of the same epoch.
func TestNoSecondViewOfAnEpoch(t *testing.T) {
	for e, signs := range map[view.Epoch]bool{2: false, 3: false, 4: true} {
		disk := &memoryDisk{}
		s, now := seeker(1, disk, nil), time.Unix(1000, 0)
		last := founding(3)
		last.Members[1].UID, last.Members[1].Addr = 3, "n3"
		s.memory.Last, s.memory.Free = last, true
		s.Advance(now)
		now = now.Add(10 * time.Second)
		if s.onLock(now, 2, Locked{View: founding(e)}); s.IsLocked() != signs {
			t.Errorf("a founding of epoch %d is signed: %v, view 3 is known", e, s.IsLocked())
		}
	}
}

// TestAllFoundersChooseAlike: a founder that hears others than the first one does is not founded
// with, as long as they differ.
func TestAllFoundersChooseAlike(t *testing.T) {
	disk := &memoryDisk{}
	s, now := seeker(1, disk, nil), time.Unix(1000, 0)
	hear := func(choice ...view.UID) {
		now = now.Add(time.Second)
		s.OnProbe(now, Probe{
			Name: "c", Self: view.Member{UID: 2, Addr: "n2", Status: view.Joining, Formats: format.Build()}, At: "n1",
			Expect: 2, Peers: []Contact{{UID: 1, Addr: "n1"}}, Choice: choice,
		})
		s.Advance(now)
	}
	for range 20 {
		if hear(2, 3); s.IsLocked() {
			t.Fatal("it is locked to a founding with a node that has chosen others")
		}
	}
	if hear(1, 2); !s.IsLocked() || len(disk.locked) != 1 {
		t.Errorf("it is not locked when both have chosen alike: %v", s.waiting)
	}
}
