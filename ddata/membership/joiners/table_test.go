package joiners

import (
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// asks returns the probe of a node that has heard of a view.
func asks(u view.UID, addr string, heard, first view.Epoch) bootstrap.Probe {
	return bootstrap.Probe{Self: view.Member{UID: u, Addr: addr, Formats: format.Build()}, Heard: heard, First: first}
}

// A probe that was overtaken takes nothing back of what a later one has said.
func TestAnOvertakenProbe(t *testing.T) {
	j, now := NewTable(Config{TTL: time.Minute}), time.Unix(1000, 0)
	for i, c := range []struct {
		heard, want view.Epoch
		news        bool
	}{{3, 3, true}, {5, 5, true}, {3, 5, false}, {0, 5, false}} {
		news, full := j.Remember(now, 5, asks(7, "a:1", c.heard, 0))
		if got := j.Remembered(); news != c.news || full || len(got) != 1 || got[0].Heard != c.want {
			t.Errorf("probe %d: news %v, full %v, remembered %+v", i+1, news, full, got)
		}
	}
}

// A node that has skipped views does not know which nodes were let in and removed again by them.
func TestSkippedViewsMayHaveHadAJoiner(t *testing.T) {
	for _, skips := range []bool{false, true} {
		j, now := NewTable(Config{TTL: time.Minute, GoneFor: time.Minute}), time.Unix(1000, 0)
		first, next := &view.View{Format: format.Initial, Epoch: 4}, &view.View{Format: format.Initial, Epoch: 5}
		if skips {
			next.Epoch = 7
		}
		j.Follow(now, nil, first)
		j.Follow(now, first, next)
		s := Scene{Now: now, View: next, Common: &bootstrap.Common{Formats: format.Build()}, Leads: true}
		p := asks(9, "b:1", 4, 4) // it has asked since view 4
		if news, _ := j.Remember(now, next.Epoch, p); news == skips {
			t.Errorf("skips %v: remembered %v", skips, news)
		}
		if reason, text := j.Refusal(s, p); (reason == bootstrap.ReasonGone) != skips {
			t.Errorf("skips %v: refused for %v %q", skips, reason, text)
		}
	}
}

// When there is no room for one more, the first goes that has not heard of the installed view. Those
// that have are about to be let in.
func TestTheFirstThatHasNotHeardMakesRoom(t *testing.T) {
	j, now := NewTable(Config{TTL: time.Hour}), time.Unix(1000, 0)
	for i := range Max {
		heard := view.Epoch(5)
		if i == 2 || i == 3 {
			heard = 4
		}
		j.Remember(now, 5, asks(view.UID(i+1), string(rune('A'+i)), heard, 0))
		now = now.Add(time.Second)
	}
	for i, gone := range []view.UID{3, 4} {
		if _, full := j.Remember(now, 5, asks(view.UID(1000+i), string(rune('一'+i)), 5, 0)); !full || j.Has(gone) ||
			j.Len() != Max {
			t.Errorf("full %v, node %v waits: %v, %d wait", full, gone, j.Has(gone), j.Len())
		}
	}
	if news, full := j.Remember(now, 5, asks(2000, "late", 5, 0)); news || !full || j.Has(2000) || !j.Has(1) {
		t.Errorf("one that has heard of the view made room: news %v, full %v", news, full)
	}
}
