package membership

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/record"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/defect"
)

// TestColdStartAfterAnOrderlyStop: nodes that have all stopped in order wait for no lease of theirs
// when they found the cluster anew. After a crash they do.
func TestColdStartAfterAnOrderlyStop(t *testing.T) {
	for _, orderly := range []bool{true, false} {
		w := newWorld(t, 41, LAN())
		w.found(3)
		if orderly {
			if err := w.endAll(20*time.Millisecond, w.base.HeartbeatInterval); err != nil {
				t.Fatal(err)
			}
		} else {
			for _, n := range w.living() {
				n.crash()
			}
		}
		began := w.now
		for _, a := range addrs(3) {
			w.start(a, nil)
		}
		if !w.until(30*time.Second, w.converged) {
			t.Fatal("they do not come back:", w.living()[0].m)
		}
		took := w.now - began
		if soon := took < 3*w.base.HeartbeatInterval; soon != orderly {
			t.Errorf("orderly %t: founded anew after %v", orderly, took)
		}
		w.verdict()
	}
}

// TestColdStartOfANodeAlone: after a crash, the only member of the last view waits for no lease: none but
// itself had one of it. It waits if another node was let in, also if its disk knows no more than that it
// has accepted that.
func TestColdStartOfANodeAlone(t *testing.T) {
	for name, c := range map[string]struct {
		last, pending int // members of the views on its disk; 0: no view
		ended         bool
		waits         bool
	}{
		"alone": {1, 0, true, false}, "with another": {2, 0, true, true}, "another let in": {1, 2, true, true},
		"another dropped, and not known": {2, 1, true, true}, "locked to itself": {0, 1, true, false},
		"alone, and perhaps running elsewhere": {1, 0, false, true},
	} { // order: each has a world of its own
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 44, LAN())
			ns := w.found(2)
			two := *ns[0].m.View()
			for _, n := range ns {
				n.crash()
			}
			viewOf := func(members int) *view.View {
				if members == 0 {
					return nil
				}
				v := two
				v.Members = slices.DeleteFunc(slices.Clone(v.Members), func(o view.Member) bool {
					return members == 1 && o.Addr != ns[0].addr
				})
				return &v
			}
			r := record.Record{Name: w.base.Name, Last: viewOf(c.last), Pending: viewOf(c.pending)}
			if c.pending > 0 {
				r.Pending.Epoch++
			}
			w.disks[ns[0].addr] = r.Encode()
			began := w.now
			n := w.start(ns[0].addr, func(cfg *Config) {
				cfg.BootstrapExpect, cfg.BootstrapAnyDisks, cfg.DiskEnded = 1, true, c.ended
			})
			if !w.until(time.Minute, func() bool { return n.m.View() != nil }) {
				t.Fatal("not founded:", n.m, n.waiting)
			}
			if took := w.now - began; (took >= w.base.promise()) != c.waits {
				t.Errorf("founded after %v", took)
			}
			if told := strings.Contains(fmt.Sprint(n.waiting), "the last run on this disk"); told != c.waits {
				t.Errorf("it says %v", n.waiting)
			}
		})
	}
}

// TestColdStartOfAll: after a crash, founders wait for no lease when all that can have held one are there,
// each on its disk and certain that the one before has ended. They wait if one is missing, or is not
// certain, or has no disk or no vote.
func TestColdStartOfAll(t *testing.T) {
	every := func(string) bool { return true }
	first := func(a string) bool { return a == "a" }
	for name, c := range map[string]struct {
		nodes, voters int
		starts        func(addr string) bool
		ended         func(addr string) bool
		diskless      func(addr string) bool
		with          defect.Set
		waits         bool
	}{
		"all":                {nodes: 3, starts: every, ended: every},
		"all, and all vote":  {nodes: 5, voters: 5, starts: every, ended: every},
		"one is missing":     {nodes: 3, starts: func(a string) bool { return a != "a" }, ended: every, waits: true},
		"one is not certain": {nodes: 3, starts: every, ended: func(a string) bool { return a != "a" }, waits: true},
		"one has no disk":    {nodes: 3, starts: every, ended: every, diskless: first, waits: true},
		"one does not vote":  {nodes: 4, voters: 3, starts: every, ended: every, waits: true},
		"one is missing, unseen": {nodes: 3, starts: func(a string) bool { return a != "a" }, ended: every,
			with: defect.Of(defect.FoundsUnended)},
	} { // order: each has a world of its own
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 45, LAN())
			w.base.VotersMax, w.encode = c.voters, true
			tune := func(addr string) func(*Config) {
				return func(cfg *Config) {
					cfg.DiskEnded = c.ended(addr)
					if c.diskless != nil && c.diskless(addr) {
						cfg.Disk = 0
					}
				}
			}
			w.base.Seeds, w.base.BootstrapExpect = addrs(c.nodes), c.nodes
			for _, a := range addrs(c.nodes) {
				w.start(a, tune(a))
			}
			if !w.until(time.Minute, w.converged) {
				t.Fatal("not founded")
			}
			w.run(time.Second)
			w.stopAll()
			w.base.Plant(c.with)
			w.base.BootstrapExpect = 2
			began := w.now
			for _, a := range addrs(c.nodes) {
				if c.starts(a) {
					w.start(a, tune(a))
				}
			}
			if !w.until(time.Minute, w.converged) {
				t.Fatal("they do not come back:", w.living()[0].m, w.living()[0].waiting)
			}
			took := w.now - began
			soon, waited := took < w.base.HeartbeatInterval, took > w.base.promise()-time.Second
			if soon == c.waits || waited != c.waits {
				t.Errorf("founded anew after %v", took)
			}
			w.verdict()
		})
	}
}

// TestRecordIsFreeOnlyWhenNobodyRuns: a node that leaves while others run has granted them leases
// that last, and does not say that its disk is free. The last one does. What is written by the next
// incarnation takes it back.
func TestRecordIsFreeOnlyWhenNobodyRuns(t *testing.T) {
	w := newWorld(t, 42, LAN())
	ns := w.found(2)
	free := func(addr string) bool {
		r, err := record.Decode(w.disks[addr])
		if err != nil {
			t.Fatal(err)
		}
		return r.Free
	}
	for i, n := range ns {
		n.step(Leave{})
		if !w.until(10*time.Second, func() bool { return !n.alive }) {
			t.Fatal("it does not leave:", n.m)
		}
		if last := i == len(ns)-1; free(n.addr) != last {
			t.Errorf("%v: free %t", n, !last)
		}
	}
	last := w.start(ns[1].addr, func(c *Config) { c.BootstrapExpect = 1 })
	if !w.until(10*time.Second, func() bool { return last.m.View() != nil }) {
		t.Fatal("it does not found:", last.m)
	}
	w.run(100 * time.Millisecond)
	if free(last.addr) {
		t.Error("the disk of a node that runs is free")
	}
	w.verdict()
}

// TestFreeIsTakenBackBeforeTheNodeVotes: a node whose disk is free comes back to a cluster that
// runs, and its disk hangs. Its grants must not count as long as the disk says that there are none.
// So it stays Joining, and is no voter.
func TestFreeIsTakenBackBeforeTheNodeVotes(t *testing.T) {
	for _, told := range []bool{false, true} { // with its view told before it is stored it would vote
		w := newWorld(t, 43, LAN())
		w.found(3)
		if err := w.endAll(20*time.Millisecond, w.base.HeartbeatInterval); err != nil {
			t.Fatal(err)
		}
		as := addrs(3)
		w.startAll(as[0], as[1])
		if !w.until(30*time.Second, w.converged) {
			t.Fatal("two of three disks do not found anew:", w.living()[0].m)
		}
		late := w.start(as[2], func(c *Config) {
			if told {
				c.Plant(defect.Of(defect.ToldUnstored))
			}
		})
		w.slow = func(n *node) time.Duration {
			if n == late {
				return time.Hour
			}
			return 0
		}
		w.run(10 * w.base.LeaseDuration)
		if late.m.View() == nil {
			t.Fatal("it was not let in:", late.m)
		}
		if r, err := record.Decode(w.disks[late.addr]); err != nil || !r.Free {
			t.Fatalf("its disk has %v, %v", r, err)
		}
		if votes := late.m.member.view.IsVoter(late.uid); votes != told {
			t.Errorf("told early %t: it votes %t: %v", told, votes, late.m)
		}
	}
}

// TestRecordOfAnotherVersion: a directory of a version before is refused, and the error names both
// versions.
func TestRecordOfAnotherVersion(t *testing.T) {
	for _, version := range []byte{0, 1, 2, 3, record.Version + 1} {
		b := record.Record{Name: "x", Last: sampleView(), Settled: 2}.Encode()
		b[0] = version
		want := fmt.Sprintf("version %d, this is %d", version, record.Version)
		if _, err := record.Decode(b); !errors.Is(err, record.ErrUnreadable) || !strings.Contains(err.Error(), want) {
			t.Errorf("version %d: %v", version, err)
		}
	}
}

// TestAViewThatComesLateLeavesTheDiskFree: a node alone says that its disk is free while the disk
// still writes the acceptance of the view in which it leaves. That view is installed after it, and
// takes nothing back.
func TestAViewThatComesLateLeavesTheDiskFree(t *testing.T) {
	for seed := uint64(1); seed <= 20; seed++ {
		w := newWorld(t, seed, LAN())
		n := w.found(1)[0]
		w.slow = func(*node) time.Duration { return time.Duration(w.rng.Int64N(int64(20 * time.Millisecond))) }
		n.step(Leave{})
		n.step(Stopped{})
		if !w.until(10*time.Second, func() bool { return !n.alive }) {
			t.Fatal("it does not leave:", n.m)
		}
		if r, err := record.Decode(w.disks[n.addr]); err != nil || !r.Free {
			t.Fatalf("seed %d: the disk is not free: %v, %v", seed, r, err)
		}
	}
}

// TestAViewOfOthersTakesFreeBack: a node that does not vote has noted that none of its grants is in
// use. While the disk writes that, a view comes in which it votes, and which lists a member that
// runs, under a lease that others granted. By G3 it now answers for that lease, so the note must
// not stay.
func TestAViewOfOthersTakesFreeBack(t *testing.T) {
	w := newWorld(t, 44, LAN())
	w.base.VotersMax = 1
	w.handOff = time.Hour // Stopped is said below
	ns := w.found(3)
	voter, last := ns[0], ns[1]
	for _, n := range ns {
		switch {
		case n.m.member.view.IsVoter(n.uid):
			voter = n
		case n.m.member.me().UpNumber == 2:
			last = n
		}
	}
	w.run(3 * w.base.LeaseDuration)
	w.slow = func(*node) time.Duration { return time.Second }
	next := *last.m.View()
	// the view is made below
	w.filter = func(_, _ *node, msg message.Message) bool { _, decides := msg.(message.Accept); return !decides }
	voter.step(Leave{})
	voter.step(Stopped{})
	last.step(Leave{})
	last.step(Stopped{})
	if !w.until(10*time.Second, func() bool { return last.m.member.storing.store.Record().Free }) {
		t.Fatal("it notes nothing:", last.m)
	}
	next.Epoch, next.Parent, next.Members = next.Epoch+1, next.Hash(), slices.Clone(next.Members)
	for i, o := range next.Members {
		if o.UID == voter.uid {
			next.Members[i].Status = view.Leaving
		}
	}
	last.step(Receive{From: voter.uid, FromAddr: voter.addr, Msg: message.Commit{View: &next}})
	if last.m.View() != &next || !last.m.member.view.IsVoter(last.uid) {
		t.Fatalf("it has not installed the view, or does not vote in it: %v", last.m)
	}
	if r := last.m.member.storing.store.Record(); r.Last != &next || r.Free {
		t.Errorf("what the disk gets next: %v", r)
	}
	if !w.until(10*time.Second, func() bool { return !last.alive }) {
		t.Fatal("it does not end:", last.m)
	}
}
