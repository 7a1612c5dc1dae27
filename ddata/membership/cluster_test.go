package membership

import (
	"slices"
	"testing"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// A view that was modified is found out: soon, or when the next one is installed.
func TestModifiedViewsAreFoundOut(t *testing.T) {
	for what, then := range map[string]func(c *cluster){
		"it stays": func(*cluster) {},
		"it is replaced": func(c *cluster) {
			next := *c.view.View
			next.Epoch++
			c.install(c.view.At, &next)
		},
	} {
		w := newWorld(t, 1, LAN())
		c := w.found(3)[0].m.member.cluster
		for range 2 * wholeEvery {
			if err := c.check(); err != nil {
				t.Fatal(err)
			}
		}
		c.view.Members[1].AppVersion = "another"
		then(c)
		found := false
		for range wholeEvery {
			found = found || c.check() != nil
		}
		if !found {
			t.Errorf("a view was modified, and %s", what)
		}
	}
}

// What depends on the view is looked at when that is installed.
func TestNewViewsAreChecked(t *testing.T) {
	for what, spoil := range map[string]func(c *cluster, v *view.View){
		"this node is not in it": func(c *cluster, v *view.View) {
			v.Members = slices.DeleteFunc(slices.Clone(v.Members), func(o view.Member) bool { return o.UID == c.uid })
			c.install(c.view.At, v)
		},
		"a member has no report": func(c *cluster, v *view.View) {
			c.view = view.Install(v, c.view.At)
			c.reports.Follow(&view.View{Members: v.Members[:1]})
		},
		"nothing is known of whether a member is heard": func(c *cluster, v *view.View) {
			c.install(c.view.At, v)
			c.reach.Follow(c.view.At, c.uid, &view.View{}, nil)
		},
	} {
		w := newWorld(t, 1, LAN())
		c := w.found(3)[0].m.member.cluster
		next := *c.view.View
		next.Epoch++
		spoil(c, &next)
		if c.check() == nil {
			t.Errorf("%s, and it passes", what)
		}
	}
}
