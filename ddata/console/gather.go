package console

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/coterie-go/coterie/ddata/console/api"
	"github.com/coterie-go/coterie/ddata/console/section"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// askedMax is how many nodes one question asks at one time.
const askedMax = 16

// part is what one node has answered.
type part[T any] struct {
	node view.Member
	got  T
	err  error
}

// gatherRounds bounds the wait for all members together, in NodeTimeouts: those that were not asked by
// then, because many hang, are named, too.
const gatherRounds = 5

// gather asks members, askedMax at one time, and waits for all: each for NodeTimeout at most.
func gather[T any](ctx context.Context, c *handler, members []view.Member, q query) []part[T] {
	ctx, cancel := context.WithTimeout(ctx, gatherRounds*c.cfg.NodeTimeout)
	defer cancel()
	parts := make([]part[T], len(members))
	permits := make(chan struct{}, askedMax)
	var wg sync.WaitGroup
	for i, m := range members {
		permits <- struct{}{}
		wg.Go(func() {
			defer func() { <-permits }()
			x, err := askOf[T](ctx, c.station, m.UID, c.cfg.NodeTimeout, q)
			parts[i] = part[T]{m, x, err}
		})
	}
	wg.Wait()
	return parts
}

// unanswered names the nodes that gave no answer.
func unanswered[T any](parts []part[T]) (all []api.Unanswered) {
	for _, p := range parts {
		if p.err != nil {
			all = append(all, api.Unanswered{UID: uidText(p.node.UID), Addr: p.node.Addr, Why: p.err.Error()})
		}
	}
	return all
}

// cluster is what all nodes say.
func (c *handler) cluster(ctx context.Context) (*api.Cluster, error) {
	n := c.station.node
	v := n.View()
	parts := gather[api.Node](ctx, c, slices.Concat(v.Full(), v.Learners()), query{Ask: askNode})
	x := &api.Cluster{
		Name: n.ClusterName(), Asked: uidText(n.UID()), At: c.station.host.Scheduler.Now().UTC(),
		View: viewOf(v), Unanswered: unanswered(parts),
	}
	for _, p := range parts {
		if p.err == nil {
			x.Nodes = append(x.Nodes, p.got)
		}
	}
	return x, nil
}

// events are the latest of all nodes.
func (c *handler) events(ctx context.Context, limit int) (*api.Events, error) {
	parts := gather[[]api.Event](ctx, c, c.station.node.Members(), query{Ask: askEvents, Limit: limit})
	x := &api.Events{Events: []api.Event{}, Unanswered: unanswered(parts)}
	for _, p := range parts {
		x.Events = append(x.Events, p.got...)
	}
	slices.SortStableFunc(x.Events, func(a, b api.Event) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Seq, b.Seq))
	})
	x.Events = x.Events[max(0, len(x.Events)-limit):]
	return x, nil
}

// shards is a page of the shards of a type. All members are asked: each knows what it hosts and what
// waits on it. The type is unknown only if every member has answered that it is.
func (c *handler) shards(ctx context.Context, typ string, from, limit int) (*api.Shards, error) {
	q := query{Ask: askShards, Type: typ, From: from, Limit: limit}
	parts := gather[api.Shards](ctx, c, c.station.node.Members(), q)
	answered := make([]nodeShards, 0, len(parts))
	var silent []api.Unanswered
	for _, p := range parts {
		switch {
		case p.err == nil:
			answered = append(answered, nodeShards{uidText(p.node.UID), p.got})
		case errors.Is(p.err, section.ErrUnknown): // the type was not started there
		default:
			silent = append(silent, unanswered([]part[api.Shards]{p})...)
		}
	}
	x, ok := merge(uidText(c.station.node.UID()), answered)
	if !ok && len(silent) == 0 {
		return nil, c.noType(ctx, typ)
	}
	x.Type, x.From, x.Unanswered = typ, from, silent
	return &x, nil
}

// entity is where an entity is, and what its node knows of it.
func (c *handler) entity(ctx context.Context, typ, id string) (*api.Entity, error) {
	at, err := c.withType(ctx, typ)
	if silent, ok := errors.AsType[silentType](err); ok {
		return &api.Entity{Type: typ, ID: id, Shard: -1, Unanswered: silent}, nil
	}
	if err != nil {
		return nil, err
	}
	x, err := askOf[api.Entity](ctx, c.station, at, 2*c.cfg.NodeTimeout, query{Ask: askFind, Type: typ, ID: id})
	if err != nil {
		return nil, err
	}
	home, ok := c.member(x.Node)
	if !ok {
		return &x, nil
	}
	q := query{Ask: askEntity, Type: typ, ID: id}
	more, err := askOf[api.Entity](ctx, c.station, home.UID, c.cfg.NodeTimeout, q)
	if err != nil {
		x.Unanswered = append(x.Unanswered, api.Unanswered{UID: x.Node, Addr: home.Addr, Why: err.Error()})
		return &x, nil
	}
	more.Node, more.Addr, more.Unanswered = x.Node, home.Addr, x.Unanswered
	return &more, nil
}
