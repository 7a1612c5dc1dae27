package console

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/coterie-go/coterie/ddata/console/api"
	"github.com/coterie-go/coterie/ddata/console/section"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// member finds a member of the installed view by its uid, the last eight digits of it, or its
// address.
func (c *handler) member(name string) (view.Member, bool) {
	return find(c.station.node.View(), name)
}

func find(v *view.View, name string) (found view.Member, ok bool) {
	if name == "" {
		return found, false
	}
	for _, m := range v.Members {
		if m.Addr == name || uidText(m.UID) == name || m.UID.String() == name {
			if ok {
				return view.Member{}, false // the short form of two
			}
			found, ok = m, true
		}
	}
	return found, ok
}

// known returns the last answer of all nodes, or asks for one.
func (c *handler) known(ctx context.Context) (*api.Cluster, error) {
	x, err := c.cache.Get(ctx, keyCluster, func(ctx context.Context) (any, error) { return c.cluster(ctx) })
	if err != nil {
		return nil, err
	}
	return x.(*api.Cluster), nil
}

// withType finds a node on which a type was started: this one, if it was.
func (c *handler) withType(ctx context.Context, typ string) (view.UID, error) {
	self := c.station.node.UID()
	if e := section.Of(c.station.host); e != nil && typeIn(e.Types(), typ) != nil {
		return self, nil
	}
	return c.whereType(ctx, typ, func(api.Type) bool { return true })
}

// coordinating finds the node whose coordinator of a type acts.
func (c *handler) coordinating(ctx context.Context, typ string) (view.UID, error) {
	return c.whereType(ctx, typ, func(t api.Type) bool { return t.Coordinating })
}

// hosting finds a node that may host a type: this one, or the one that acts as its coordinator, or any.
func (c *handler) hosting(ctx context.Context, typ string) (view.UID, error) {
	if e := section.Of(c.station.host); e != nil {
		if t := typeIn(e.Types(), typ); t != nil && !t.Proxy {
			return c.station.node.UID(), nil
		}
	}
	if u, err := c.coordinating(ctx, typ); err == nil {
		return u, nil
	}
	return c.whereType(ctx, typ, func(t api.Type) bool { return !t.Proxy })
}

func (c *handler) whereType(ctx context.Context, typ string, fits func(api.Type) bool) (view.UID, error) {
	all, err := c.known(ctx)
	if err != nil {
		return 0, err
	}
	var names []string
	for _, n := range all.Nodes {
		for _, t := range n.Types {
			names = append(names, t.Name)
		}
		if t := typeIn(n.Types, typ); t != nil && fits(*t) {
			if m, ok := c.member(n.UID); ok {
				return m.UID, nil
			}
		}
	}
	switch {
	case slices.Contains(names, typ):
		return 0, fmt.Errorf("%w: no node that answered can do that for entity type %q now", section.ErrUnknown, typ)
	case len(all.Unanswered) > 0:
		return 0, silentType(all.Unanswered)
	}
	return 0, unknownType(typ, names)
}

// unknownType is the error of a type that none of the members has started.
func unknownType(typ string, names []string) error {
	slices.Sort(names)
	return fmt.Errorf("%w: entity type %q was started on no node; there are: %s", section.ErrUnknown, typ,
		cmp.Or(strings.Join(slices.Compact(names), ", "), "none"))
}

// noType is unknownType, with the types that there are.
func (c *handler) noType(ctx context.Context, typ string) error {
	_, err := c.whereType(ctx, typ, func(api.Type) bool { return false })
	return err
}

// silentType is the error of a type that none of the nodes has that answered: the nodes that did not may have it.
type silentType []api.Unanswered

// Error implements error.
func (s silentType) Error() string {
	var names []string
	for _, u := range s {
		names = append(names, fmt.Sprintf("%s %s: %s", api.Short(u.UID), u.Addr, u.Why))
	}
	return "console: no node that answered has started the entity type, and there is no answer of " +
		strings.Join(names, "; ")
}

func typeIn(all []api.Type, name string) *api.Type {
	for i := range all {
		if all[i].Name == name {
			return &all[i]
		}
	}
	return nil
}

// route says which node does an action: the one that it is about, the one that has the coordinator of
// the type, or any that has started the type, this one first. Another node has to allow it: see Config.Others.
func (c *handler) route(ctx context.Context, a api.Action) (view.UID, error) {
	switch a.Do {
	case api.DoDown, api.DoPrepare:
		return c.station.node.UID(), nil
	case api.DoLeave, api.DoDrain, api.DoLimit:
		return c.named(a.Node)
	case api.DoRebalance:
		return c.coordinating(ctx, a.Type)
	case api.DoMove:
		return c.hosting(ctx, a.Type)
	case api.DoStopShards, api.DoPassivate:
		return c.withType(ctx, a.Type)
	}
	return 0, fmt.Errorf("%w: %q is no action; there are: %v", section.ErrBad, a.Do, api.Actions)
}

// named finds a node by what a caller calls it; this node, if that is nothing.
func (c *handler) named(name string) (view.UID, error) {
	if name == "" {
		return c.station.node.UID(), nil
	}
	m, ok := c.member(name)
	if !ok {
		return 0, fmt.Errorf("%w: no member is %q, or several are", section.ErrUnknown, name)
	}
	return m.UID, nil
}
