package sharding

import (
	"context"
	"errors"
	"fmt"

	"github.com/coterie-go/coterie/ddata/console/api"
	"github.com/coterie-go/coterie/ddata/console/section"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/control"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/figures"
)

// consoleSection shows the types of a node to its console.
type consoleSection struct{ types *nodeTypes }

var _ section.Entities = consoleSection{}

// find is the engine of a type that runs.
func (s consoleSection) find(name string) (*engine, error) {
	t, ok := s.types.find(name)
	if !ok {
		return nil, fmt.Errorf("%w: entity type %q was not started on this node", section.ErrUnknown, name)
	}
	return t.run, nil
}

// Types implements section.Entities.
func (s consoleSection) Types() (all []api.Type) {
	for _, name := range s.types.names() {
		if run, err := s.find(name); err == nil {
			all = append(all, typeShown(run))
		}
	}
	return all
}

func typeShown(run *engine) api.Type {
	c := run.control
	x := figures.TypeOf(run.plane, c.Notices)
	x.Remembers, x.Movable, x.Drain = c.Cfg.Remember.Entities, run.movable(), run.drainShown()
	if c.Reminders != nil {
		n := c.Reminders.Counts()
		x.Reminders = &api.Reminders{
			Fired: n.Fired.Load(), Handled: n.Handled.Load(), Failed: n.Failed.Load(), UnderWay: n.UnderWay.Load(),
		}
	}
	return x
}

// Shards implements section.Entities.
func (s consoleSection) Shards(ctx context.Context, typ string, from, limit int) ([]api.Shard, int, error) {
	run, err := s.find(typ)
	if err != nil {
		return nil, 0, err
	}
	all, coord := figures.ShardsOf(run.plane, from, limit), run.control.Coord
	if len(all) > 0 && coord != nil && run.plane.Standing.Coordinates.Load() {
		first := all[0].Shard
		for _, m := range coord.Moving(ctx, ShardID(first), ShardID(first+len(all))) {
			all[int(m.Shard)-first].Moving = figures.MovingOf(m)
		}
	}
	return all, run.control.Cfg.Shards, nil
}

// Entity implements section.Entities.
func (s consoleSection) Entity(typ, id string) (api.Entity, error) {
	run, err := s.addressed(typ, id)
	if err != nil {
		return api.Entity{}, err
	}
	x, why := figures.EntityOf(run.plane, id), explainPassivation(run.plane, id)
	x.Why = why.String()
	x.IdleMillis, x.IdleTimeout = why.Idle.Milliseconds(), why.IdleTimeout.Milliseconds()
	for _, p := range why.Last {
		x.Passivated = append(x.Passivated, api.Passivation{At: p.At.UTC(), Cause: p.Cause.String(), Text: p.String()})
	}
	return x, nil
}

// Find implements section.Entities.
func (s consoleSection) Find(ctx context.Context, typ, id string) (api.Entity, error) {
	run, err := s.addressed(typ, id)
	if err != nil {
		return api.Entity{}, err
	}
	loc, err := where(ctx, run.plane, id, false)
	x := api.Entity{
		Type: typ, ID: id, Shard: int(loc.Shard), Node: figures.UID(loc.Node), Addr: loc.Addr, Active: loc.Active,
	}
	if err != nil { // no node that answered hosts it
		x.NotFound = err.Error()
	}
	return x, nil
}

// addressed is the engine of an entity's type. The id is one that an entity can have.
func (s consoleSection) addressed(typ, id string) (*engine, error) {
	if err := dataplane.CheckID(id); err != nil {
		return nil, fmt.Errorf("%w: %w", section.ErrBad, err)
	}
	return s.find(typ)
}

// Act implements section.Entities.
func (s consoleSection) Act(ctx context.Context, a api.Action) (text string, err error) {
	if a.Do == api.DoDrain && a.Type == "" {
		return s.drainAll(ctx)
	}
	run, err := s.find(a.Type)
	if err != nil {
		return "", err
	}
	shards := make([]ShardID, len(a.Shards))
	for i, n := range a.Shards {
		shards[i] = ShardID(n)
	}
	switch a.Do {
	case api.DoRebalance:
		text, err = run.balanceNow()
	case api.DoMove:
		text, err = run.move(ctx, shards, a.Node)
	case api.DoStopShards:
		text, err = fmt.Sprintf("%d shards have stopped", len(shards)), run.stopShards(ctx, shards)
	case api.DoPassivate:
		if _, err = s.addressed(a.Type, a.Entity); err == nil {
			text, err = "it was asked for", passivate(ctx, run.plane, a.Entity)
		}
	case api.DoLimit:
		text = fmt.Sprintf("at most %d entities are active on %s", a.Limit, s.types.host.Self.Addr)
		err = limitActive(run.plane, a.Limit)
	case api.DoDrain:
		text, err = run.drain(ctx)
	default:
		err = fmt.Errorf("%w: %q is not known here; this node may be older", section.ErrBad, a.Do)
	}
	if errors.Is(err, ErrConfig) {
		err = fmt.Errorf("%w: %w", section.ErrBad, err)
	}
	return text, err
}

func (run *engine) balanceNow() (string, error) {
	if run.control.Coord == nil || !run.plane.Standing.Coordinates.Load() {
		return "", fmt.Errorf("%w: the coordinator of %q is not here, or does not act", section.ErrUnknown,
			run.plane.Name)
	}
	run.control.Coord.BalanceNow()
	return "the coordinator looks at the balance. Shards move if it is worth it, no member is joining or " +
		"unreachable, all run one app version, and regions have been the same for Rebalance.Delay", nil
}

// move says where shards shall live.
func (run *engine) move(ctx context.Context, shards []ShardID, node string) (string, error) {
	c, err := run.external()
	if err != nil {
		return "", err
	}
	addr := ""
	for _, m := range run.plane.Cluster.View().Members {
		if figures.UID(m.UID) == node {
			addr = m.Addr
		}
	}
	if addr == "" {
		return "", fmt.Errorf("%w: no member is %q", section.ErrUnknown, node)
	}
	at := make(map[ShardID]string, len(shards))
	for _, s := range shards {
		at[s] = addr
	}
	if err := c.SetShardLocations(ctx, at); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d shards shall live on %s; they move with the next look at the balance", len(shards),
		addr), nil
}

// drainAll begins to drain all types at one time, and says of each how that went.
func (s consoleSection) drainAll(ctx context.Context) (string, error) {
	names := s.types.names()
	texts, errs := make([]string, len(names)), make([]error, len(names))
	all := scheduler.NewGroup(s.types.host.Scheduler)
	for i, name := range names {
		run, err := s.find(name)
		if err != nil || run.plane.Proxy { // it hosts nothing
			continue
		}
		all.Go(func() {
			texts[i], errs[i] = run.drain(ctx)
		})
	}
	all.Wait()
	text, err := figures.Joined(texts), errors.Join(errs...)
	switch {
	case err != nil && text != "":
		err = fmt.Errorf("%w; but: %s", err, text)
	case text == "":
		text = "no entity type hosts shards on this node"
	}
	return text, err
}

// drain begins to hand all shards over, while the region goes on to route for its users. It hosts nothing
// afterwards, until the type, or the node, is started again: Drained says when. A region without which no
// other could host is left as it is: its shards would have no home. It says that it leaves before it asks the
// others, so that no two count on each other.
func (run *engine) drain(ctx context.Context) (string, error) {
	r := run.plane
	if r.Proxy {
		return "", fmt.Errorf("%w: %q is a proxy here, and hosts nothing", section.ErrBad, r.Name)
	}
	r.Standing.Leaving()
	defer r.Standing.Stays() // beginLeave has said it for good then
	if !run.othersHost(ctx) {
		return "", fmt.Errorf("%w: no other node that answered can host %q", section.ErrBad, r.Name)
	}
	if run.beginLeave() {
		r.Scheduler.Go(func() {
			if r.Scheduler.Await(run.control.Left(), r.Ended, nil) == 0 {
				took := r.Scheduler.Since(*run.leavingSince.Load())
				run.control.Notices.Tell(control.Drained{Type: r.Name, Took: took})
			}
		})
	}
	return fmt.Sprintf("%q hands %d shards over, and hosts none then until it is started again", r.Name,
		len(r.Routes.Shards())), nil
}

func (run *engine) othersHost(ctx context.Context) bool {
	others := inspectAll(run.plane, ctx, codec.InspectTotals, "")
	for i := range others.Regions {
		if g := &others.Regions[i]; g.Registered && !g.Proxy && g.Node != view.UID(run.plane.Self) {
			return true
		}
	}
	return false
}

// drainShown is how far the region is that hands all shards over; nil: it hands over what the balance wants only.
func (run *engine) drainShown() *api.Drain {
	since := run.leavingSince.Load()
	if since == nil {
		return nil
	}
	x := &api.Drain{Since: since.UTC(), Done: dataplane.IsDone(run.control.Left())}
	if !x.Done {
		x.Why = figures.Joined(run.holdUps())
	}
	return x
}
