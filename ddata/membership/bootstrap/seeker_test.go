package bootstrap

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

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
	self := view.Member{UID: u, Addr: fmt.Sprint("n", uint64(u)), Status: view.Joining}
	cfg := Config{
		Common: Common{Name: "c", Addr: self.Addr, ConfigHash: 5}, Self: self, Seeds: []string{"n1", "n2"}, Expect: 2,
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
