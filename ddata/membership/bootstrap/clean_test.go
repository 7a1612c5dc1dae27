package bootstrap

import (
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/defect"
)

// agedUpTo is what a view says in which incarnations below a bound have ended.
func agedUpTo(below view.UID, agreedIn view.Epoch, came uint32) *view.Ages {
	return &view.Ages{Came: came, AgreedIn: agreedIn, Ended: view.Retirement{Below: below}, Began: below}
}

// A founding takes over the last agreement that a disk knows, and the highest count.
func TestAgesOfAFounding(t *testing.T) {
	if agesOf(nil) != nil || agesOf([]Known{{Epoch: 3}}) != nil {
		t.Error("ages of nothing")
	}
	got := agesOf([]Known{{Ages: agedUpTo(5, 2, 7)}, {}, {Pending: true, Ages: agedUpTo(9, 4, 0)}})
	if got.AgreedIn != 4 || got.Ended.Below != 9 || got.Came != 7 || got.Began != 9 || got.Check() != nil {
		t.Errorf("%+v", got)
	}
}

// A node does not found whose disk has missed the agreement, or whose uid is over. An empty disk has missed
// nothing.
func TestWhoIsUnclean(t *testing.T) {
	ages := agedUpTo(100, 4, 0)
	node := func(uid, clean view.UID, knows ...Known) Probe {
		return Probe{Self: view.Member{UID: uid, Addr: "a:1"}, Clean: clean, Knows: knows}
	}
	c := candidates{cfg: &Config{}}
	for what, x := range map[string]struct {
		p    Probe
		ages *view.Ages
		want bool
	}{
		"a clean disk":           {node(200, 100, Known{}), ages, false},
		"one that missed it":     {node(200, 99, Known{}), ages, true},
		"an empty one":           {node(200, 0), ages, false},
		"a uid that is over":     {node(99, 100, Known{}), ages, true},
		"nothing was agreed yet": {node(99, 0, Known{}), nil, false},
	} {
		if got := c.isUnclean(x.p, x.ages); got != x.want {
			t.Errorf("%s: %t", what, got)
		}
	}
	text := c.uncleanDisks([]Probe{node(200, 99, Known{}), node(99, 99, Known{}), node(201, 100, Known{})}, ages)
	if !strings.HasSuffix(text, ": a:1") {
		t.Errorf("%q", text)
	}
	c.cfg.Defects = defect.Of(defect.FoundsUnclean)
	if c.isUnclean(node(200, 99, Known{}), ages) {
		t.Error("the defect makes no difference")
	}
	var out Output
	if drawAgain(100, ages, &out) || !drawAgain(99, ages, &out) || out.Least != 100 || out.Stalled == "" {
		t.Errorf("%+v", out)
	}
}
