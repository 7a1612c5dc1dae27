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
