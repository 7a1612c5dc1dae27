package nextview

import (
	"github.com/coterie-go/coterie/ddata/membership/retiring"
	"github.com/coterie-go/coterie/proptest/defect"
)

func (c *composer) retirement() retiring.Scene {
	return retiring.Scene{
		Now: c.Now, View: c.View.View, Next: c.next(), Settled: c.Settled, Agreed: c.Reports.Agreed,
		Reachable: c.Reachable, After: c.RetireAfter,
	}
}

// endRetirement ends the retirement of incarnations that are over, when all members have agreed.
func (c *composer) endRetirement() {
	if c.retirement().End(c.Defects.Planted(defect.RetiresUnagreed)) {
		c.plan.Changed = true
	}
}

// beginRetirement counts the incarnations that have come, and begins the next retirement when they are
// enough.
func (c *composer) beginRetirement() {
	r := c.retirement()
	if r.Count(); r.Begin() {
		c.plan.Changed = true
	}
}
