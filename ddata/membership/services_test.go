package membership

import (
	"fmt"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// offer has the node offer a service.
func (n *node) offer(s view.Service) {
	if n.alive {
		n.offers = append(n.offers, s)
		n.step(Offer{s})
	}
}

// listed reports whether every service is listed for all that offer it and find room.
func (w *world) listed() bool {
	for _, n := range w.living() {
		for _, s := range n.offers {
			if !n.m.View().Lines.Settles(s, n.uid) {
				return false
			}
		}
	}
	return true
}

// TestMoreServicesThanAViewLists: a node that offers more services than a view has room for stays a member
// like any other; those that found room are listed.
func TestMoreServicesThanAViewLists(t *testing.T) {
	w := newWorld(t, 1, LAN())
	w.encode = true
	w.base.Seeds, w.base.BootstrapExpect = addrs(2), 2
	for _, a := range addrs(2) {
		n := w.start(a, nil)
		for i := range view.LinesMax + 10 {
			n.offer(view.Service{Name: fmt.Sprintf("%s%03d", a, i)})
		}
	}
	if !w.until(time.Minute, func() bool { return w.converged() && w.listed() }) {
		t.Error("they do not come together")
	}
	for _, n := range w.living() {
		if lines := len(n.m.View().Lines); lines != view.LinesMax {
			t.Errorf("%d lines", lines)
		}
	}
	w.verdict()
}

// TestOffersOfLearners: what a node offers before it is Up is listed by the view that brings it up, and
// needs none of its own.
func TestOffersOfLearners(t *testing.T) {
	w := newWorld(t, 1, LAN())
	w.base.Seeds, w.base.BootstrapExpect = addrs(2), 2
	s := view.Service{Name: "s"}
	for _, a := range addrs(2) {
		w.start(a, nil)
	}
	w.until(time.Minute, w.converged)
	w.base.BootstrapExpect = 0
	late := w.start("z", nil)
	late.offer(s)
	w.until(time.Minute, func() bool { return w.converged() && w.listed() })
	for _, v := range w.checker.views {
		m, in := v.Member(late.uid)
		if _, listed := v.InCharge(s); in && listed != (m.Status == view.Up) {
			t.Errorf("%v", v)
		}
	}
	w.verdict()
}
