package views

import (
	"fmt"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Chain is the views of a world. The zero Chain has none.
type Chain struct {
	views   map[key]*view.View
	removed map[view.UID]bool // in no view that comes
	eras    map[view.ClusterID]view.Era
	levels  map[view.ClusterID]format.Level // the highest so far

	// Raised is how often a format level rose.
	Raised uint64
}

type key struct {
	cluster view.ClusterID
	epoch   view.Epoch
}

// New returns a Chain without views.
func New() *Chain {
	return &Chain{
		views: map[key]*view.View{}, removed: map[view.UID]bool{}, eras: map[view.ClusterID]view.Era{},
		levels: map[view.ClusterID]format.Level{},
	}
}

// Forget takes back the views that a founding anew gives up: those of its own epoch and later.
func (c *Chain) Forget(founding *view.View) {
	for k, v := range c.views { // order: only deletes
		if k.cluster == founding.Cluster && k.epoch >= founding.Epoch && v.Hash() != founding.Hash() {
			delete(c.views, k)
		}
	}
	delete(c.levels, founding.Cluster)
}

// Installed takes a view that a process has installed. news reports whether it is the first process that
// has. Each thing that is wrong with it goes to violate, with the name of the rule.
func (c *Chain) Installed(v *view.View, violate func(rule, text string)) (news bool) {
	k := key{v.Cluster, v.Epoch}
	if was := c.views[k]; was != nil {
		if was.Hash() != v.Hash() {
			violate("one view per epoch", fmt.Sprintf("%v is installed, and %v was", v, was))
		}
		return false
	}
	c.views[k] = v
	if was, known := c.eras[v.Cluster]; known && v.Era != was {
		violate("era", fmt.Sprintf("%v is of era %d, the cluster was founded in %d", v, v.Era, was))
	}
	c.eras[v.Cluster] = v.Era
	if was := c.levels[v.Cluster]; was != 0 && was < v.Format {
		c.Raised++
	}
	c.levels[v.Cluster] = max(c.levels[v.Cluster], v.Format)
	parent := c.views[key{v.Cluster, v.Epoch - 1}]
	if parent == nil || v.Founded {
		return true // the first of a cluster, or a founding anew, or its parent was installed by no process
	}
	if v.Parent != parent.Hash() {
		violate("chain of views", fmt.Sprintf("the parent of %v is not %v", v, parent))
	}
	if v.Format < parent.Format {
		violate("format level", fmt.Sprintf("the level of %v is below that of %v", v, parent))
	}
	c.follows(parent, v, violate)
	return true
}

// follows holds one step of the chain to the rules of statuses.
func (c *Chain) follows(parent, v *view.View, violate func(rule, text string)) {
	for _, m := range parent.Members {
		now, ok := v.Member(m.UID)
		switch {
		case !ok:
			c.removed[m.UID] = true
		case now.Status < m.Status:
			violate("status", fmt.Sprintf("%v went back from %v to %v in %v", m.UID, m.Status, now.Status, v))
		case m.UpNumber != 0 && now.UpNumber != m.UpNumber:
			violate("age", fmt.Sprintf("%v changed its age in %v, before %v", m.UID, v, parent))
		}
	}
	for _, l := range parent.Lines {
		was, _ := parent.InCharge(l.Service)
		if now, _ := v.InCharge(l.Service); v.Has(was.UID) && now.UID != was.UID {
			violate("in charge", fmt.Sprintf("%v, in charge of %v, was passed over by %v in %v",
				was, l.Service, now, v))
		}
	}
	for _, m := range v.Members {
		if c.removed[m.UID] {
			violate("removed for good", fmt.Sprintf("%v is back in %v", m.UID, v))
		}
	}
}
