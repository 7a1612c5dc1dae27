package membership

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/record"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// astray makes a node known under another address than the one at which it can be reached: seeds
// name the one, it advertises the other.
func (w *world) astray(listens, advertises string) *node {
	n := w.start(listens, func(c *Config) { c.Addr = advertises })
	return n
}

// TestFoundersCountWhomTheyReach: a node that is reached at a seed's address only, and not at the
// one that it advertises, is told so, and so are the others. No node locks to a founding with it,
// and enough others found without it.
func TestFoundersCountWhomTheyReach(t *testing.T) {
	for _, expect := range []int{3, 2} {
		for seed := uint64(1); seed <= 8; seed++ { // it has the lowest uid, or another
			w := newWorld(t, seed, LAN())
			w.base.Seeds, w.base.BootstrapExpect = addrs(3), expect
			a, b, c := w.start("a", nil), w.start("b", nil), w.astray("c", "pod")
			if expect == 2 {
				if !w.until(20*w.base.HeartbeatInterval, func() bool {
					return a.m.View() != nil && b.m.View() != nil
				}) {
					t.Errorf("seed %d: two did not found without the third: %q", seed, a.waiting)
				}
				continue
			}
			w.run(2 * w.base.BootstrapTimeout)
			for n, want := range map[*node]string{
				a: "heard 3: a, b, pod; no answer from c; but pod does not hear a: each must hear all",
				b: "heard 3: a, b, pod; no answer from c; but pod does not hear b: each must hear all",
				c: "heard 3: a, b, pod; no answer from c; but this node is not reached at the address that it " +
					"advertises, pod, by a, b: check",
			} {
				if n.done != nil || n.m.seeker.IsLocked() || len(n.waiting) == 0 ||
					!strings.Contains(n.waiting[len(n.waiting)-1], want) {
					t.Errorf("seed %d: %v ended with %v, says %q, not %q", seed, n.m, n.done, n.waiting, want)
				}
			}
		}
	}
}

// TestLockedNodesSayForWhom: a locked node says whose lock is missing, and ends with it.
func TestLockedNodesSayForWhom(t *testing.T) {
	w := newWorld(t, 1, LAN())
	w.base.Seeds, w.base.BootstrapExpect = addrs(3), 3
	var ns []*node
	for _, a := range addrs(3) {
		ns = append(ns, w.start(a, nil))
	}
	slices.SortFunc(ns, func(a, b *node) int { return int(int64(a.uid) - int64(b.uid)) })
	dies := ns[2]
	w.filter = func(_, to *node, msg message.Message) bool {
		if _, lock := msg.(bootstrap.Locked); lock && to == dies && dies.alive {
			dies.crash()
		}
		return to.alive
	}
	w.run(2 * w.base.BootstrapTimeout)
	want := "no lock from " + dies.uid.String() + " at " + dies.addr
	for _, n := range ns[:2] {
		if !slices.ContainsFunc(n.waiting, func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("%v said %q, not %q", n, n.waiting, want)
		}
		var stalled *StalledError
		if !errors.As(n.done, &stalled) || !errors.Is(n.done, ErrStalled) || !strings.Contains(stalled.Waiting, want) {
			t.Errorf("%v ended with %v", n, n.done)
		}
	}
}

// TestKinTestifyAgainstOthers: a founding that cannot have been completed, as a disk of another
// cluster's shows, does not block any node.
func TestKinTestifyAgainstOthers(t *testing.T) {
	voters := func(as ...string) (ms []view.Member) {
		for i, a := range as {
			ms = append(ms, view.Member{
				UID: view.UID(i + 1), Addr: a, Status: view.Up, UpNumber: uint32(i + 1), Disk: diskOf(a),
				Formats: format.Build(),
			})
		}
		return ms
	}
	w := newWorld(t, 1, LAN())
	w.base.Seeds, w.base.BootstrapExpect = addrs(3), 2
	founding := func(c view.ClusterID, e view.Epoch, as ...string) *view.View {
		return &view.View{
			Format: format.Initial, Cluster: c, Epoch: e, Founded: true, LastUp: uint32(len(as)),
			Members: voters(as...),
		}
	}
	w.disks["a"] = record.Record{Pending: founding(7, 1, "a", "x")}.Encode()
	w.disks["b"] = record.Record{Pending: founding(7, 2, "a", "b")}.Encode() // a has not locked to it
	w.disks["c"] = record.Record{Last: founding(9, 1, "c")}.Encode()
	w.start("a", nil)
	w.start("b", nil)
	c := w.start("c", nil)
	if !w.until(30*w.base.HeartbeatInterval, func() bool { return c.m.View() != nil }) {
		t.Errorf("its own cluster is not founded anew: %q", c.waiting)
	}
}

// Of five founders one had locked when they all died. Where another of them is there that had not,
// the founding cannot have been completed, and two found; where only a stranger is there it may
// have been, and they wait for a quorum of its disks.
func TestFoundingThatCannotHaveBeenCompleted(t *testing.T) {
	for other, founds := range map[string]bool{"b": true, "z": false} { // order: each is tried by itself
		w := newWorld(t, 1, LAN())
		w.base.Seeds, w.base.BootstrapExpect = []string{"a", other}, 2
		v := &view.View{Format: format.Initial, Cluster: 7, Epoch: 1, Founded: true, LastUp: 5}
		for i, a := range addrs(5) {
			v.Members = append(v.Members, view.Member{
				UID: view.UID(i + 1), Addr: a, Status: view.Up, UpNumber: uint32(i + 1), Disk: diskOf(a),
				Formats: format.Build(),
			})
		}
		w.disks["a"] = record.Record{Pending: v}.Encode()
		a := w.start("a", nil)
		w.start(other, nil)
		if w.until(30*w.base.HeartbeatInterval, w.converged) != founds {
			t.Errorf("a and %s: founded %t: %q", other, !founds, a.waiting)
		}
	}
}
