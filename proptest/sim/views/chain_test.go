package views

import (
	"slices"
	"testing"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// first is a founding of two.
func first() *view.View {
	of := format.Range{Min: 1, Max: 2}
	return &view.View{
		Format: 1, Cluster: 7, Epoch: 1, LastUp: 2, Era: 3, Founded: true,
		Members: []view.Member{
			{UID: 1, Addr: "a", Status: view.Up, UpNumber: 1, Formats: of},
			{UID: 2, Addr: "b", Status: view.Up, UpNumber: 2, Formats: of},
		},
		Lines: view.Lines{{Service: view.Service{Name: "s"}, Members: []view.UID{1, 2}}},
	}
}

// TestRules: each rule is seen when it alone is broken, and nothing when none is.
func TestRules(t *testing.T) {
	for want, spoil := range map[string]func(v *view.View){
		"":                 func(v *view.View) { v.Format = 2 },
		"era":              func(v *view.View) { v.Era++ },
		"chain of views":   func(v *view.View) { v.Parent = view.Hash{} },
		"format level":     func(v *view.View) { v.Format = 0 },
		"status":           func(v *view.View) { v.Members[0].Status = view.Joining },
		"age":              func(v *view.View) { v.Members[0].UpNumber = 9 },
		"in charge":        func(v *view.View) { v.Lines[0].Members = []view.UID{2, 1} },
		"removed for good": nil, // below
	} {
		c, broken := New(), ""
		violate := func(rule, _ string) { broken = rule }
		v := first()
		next := v.Next(v.Hash())
		next.Members = slices.Clone(v.Members)
		next.Lines = first().Lines
		if spoil == nil {
			next.Members = next.Members[:1]
			c.Installed(v, violate)
			c.Installed(next, violate)
			v, next = next, next.Next(next.Hash())
			next.Members = first().Members
		} else {
			c.Installed(v, violate)
			spoil(next)
		}
		if news := c.Installed(next, violate); !news || broken != want {
			t.Errorf("%q is broken, seen was %q; news %t", want, broken, news)
		}
		if c.Installed(next, violate) {
			t.Error("news twice")
		}
		if want == "" && c.Raised != 1 {
			t.Error("a level that rises is not counted")
		}
		other := *next
		other.LastUp++
		if c.Installed(&other, violate); broken != "one view per epoch" {
			t.Errorf("another view of the epoch: %q", broken)
		}
		broken = ""
		c.Forget(&other)
		if c.Installed(&other, func(string, string) {}) == false {
			t.Error("a view that was given up is remembered")
		}
	}
}

// retiring is a founding of three, of which the first goes in the second view, and the views that follow while the
// incarnations below 3 retire.
func retiring() (all []*view.View) {
	of := format.Range{Min: 1, Max: format.Ages}
	v := &view.View{Format: format.Ages, Cluster: 7, Epoch: 1, LastUp: 3, Era: 3, Founded: true, Ages: &view.Ages{}}
	for u := range view.UID(3) {
		v.Members = append(v.Members, view.Member{
			UID: 1 + u, Addr: "a", Status: view.Up, UpNumber: uint32(1 + u), Formats: of, Roles: []string{"r"},
		})
	}
	ending := view.Retirement{Below: 3, Spared: []view.UID{2}}
	for _, a := range []view.Ages{
		{}, {Ending: ending, Began: 3}, {Ending: ending, Began: 3}, {Ended: ending, AgreedIn: 4, Began: 3},
		{Ended: ending, AgreedIn: 4, Began: 3},
	} {
		all = append(all, v)
		next := v.Next(v.Hash())
		next.Members, next.Ages = slices.Clone(v.Members[len(v.Members)-2:]), &a
		v = next
	}
	return append(all, v)
}

// TestRulesOfRetirements: a chain in which incarnations retire is right, and each way in which one can be wrong is
// seen.
func TestRulesOfRetirements(t *testing.T) {
	play := func(all []*view.View, agreed func(view.UID) view.Epoch) (c *Chain, broken []string) {
		c = New()
		c.Agreed = agreed
		for i, v := range all {
			if i > 0 {
				v.Parent = all[i-1].Hash()
			}
			c.Installed(v, func(rule, _ string) { broken = append(broken, rule) })
		}
		return c, broken
	}
	all := func(view.UID) view.Epoch { return 4 }
	for _, agreed := range []func(view.UID) view.Epoch{all, nil} {
		if c, broken := play(retiring(), agreed); len(broken) > 0 || c.Retired != 1 {
			t.Errorf("broken are %q, %d have retired", broken, c.Retired)
		}
	}
	for what, spoil := range map[string]func(vs []*view.View){
		"ended before it began":    func(vs []*view.View) { vs[2].Ages = vs[4].Ages },
		"another one ended":        func(vs []*view.View) { vs[4].Ages.Ended.Below++ },
		"agreed in an older view":  func(vs []*view.View) { vs[4].Ages.AgreedIn = 3 },
		"agreed in a newer view":   func(vs []*view.View) { vs[5].Ages.AgreedIn = 5 },
		"another one is under way": func(vs []*view.View) { vs[3].Ages.Ending.Below++ },
		"what was over is not":     func(vs []*view.View) { vs[5].Ages.Ended.Spared = []view.UID{1, 2} },
		"all is forgotten":         func(vs []*view.View) { vs[5].Ages = nil },
		"a member is over":         func(vs []*view.View) { vs[2].Ages.Ending.Spared = nil },
		"a member has ended":       func(vs []*view.View) { vs[5].Ages.Ended.Spared = nil },
	} {
		vs := retiring()
		for _, v := range vs { // each view has its own
			a := *v.Ages
			v.Ages = &a
		}
		spoil(vs)
		if _, broken := play(vs, all); !slices.Contains(broken, "retirement") {
			t.Errorf("%s: broken are %q", what, broken)
		}
	}
	anew := retiring()
	anew[5].Founded, anew[5].Ages = true, &view.Ages{}
	if _, broken := play(anew, all); !slices.Equal(broken, []string{"retirement"}) {
		t.Errorf("a founding forgets what is over: broken are %q", broken)
	}
	c, _ := play(anew[:5], all)
	c.Forget(anew[5])
	c.Installed(anew[5], func(rule, text string) { t.Errorf("an operator gave it up, %s: %s", rule, text) })
	for u := view.UID(2); u <= 3; u++ {
		_, broken := play(retiring(), func(m view.UID) view.Epoch {
			if m == u {
				return 3
			}
			return 4
		})
		if !slices.Equal(broken, []string{"retirement"}) {
			t.Errorf("%v has not agreed: broken are %q", u, broken)
		}
	}
	vs := retiring()
	vs[3].Members = slices.Clone(vs[3].Members)
	vs[3].Members[0].Roles = nil // it has no data
	if _, broken := play(vs, func(m view.UID) view.Epoch { return 4 * view.Epoch(m&1) }); len(broken) > 0 {
		t.Errorf("a member without roles: broken are %q", broken)
	}
}
