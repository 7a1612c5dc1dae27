package console

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/coterie-go/coterie/ddata/console/api"
	"github.com/coterie-go/coterie/ddata/console/section"
	"github.com/coterie-go/coterie/ddata/events"
)

// Time limits of actions.
const (
	// actTimeout bounds what a caller waits for.
	actTimeout = 15 * time.Second
	// leaveTimeout bounds what a node that leaves has to hand over.
	leaveTimeout = 30 * time.Second
)

// Acted is the event of an action that a console was asked for: done, failed, or refused to a caller that may not
// act. Of attempts that are refused ten a minute are told, of those of strangers one an hour, and the others counted.
// It is an alarm if a node failed, or refused one of those it lets in.
type Acted struct {
	Action api.Action
	By     string // name and address of the caller, and the node whose console was asked
	Err    error  // why it was not done
	Untold uint64 // refused attempts before it, which were not told
}

// Line implements events.Event.
func (e Acted) Line() events.Line {
	attrs := []slog.Attr{slog.String("do", e.Action.Do), slog.String("by", e.By)}
	add := func(key, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(key, value))
		}
	}
	add("node", e.Action.Node)
	add("type", e.Action.Type)
	add("entity", e.Action.Entity)
	if len(e.Action.Shards) > 0 {
		attrs = append(attrs, slog.Int("shards", len(e.Action.Shards)))
	}
	if e.Action.Limit != 0 {
		attrs = append(attrs, slog.Int("limit", e.Action.Limit))
	}
	level := slog.LevelInfo
	if e.Err != nil {
		if !e.harmless() {
			level = slog.LevelWarn
		}
		attrs = append(attrs, slog.Any("err", e.Err))
	}
	if e.Untold > 0 {
		attrs = append(attrs, slog.Uint64("untold", e.Untold))
	}
	return events.Line{Level: level, Message: "console action", Attrs: attrs}
}

// harmless reports whether the caller has made a mistake, of which the answer tells, or was let in nowhere.
func (e Acted) harmless() bool {
	return errors.Is(e.Err, section.ErrBad) || errors.Is(e.Err, section.ErrUnknown) || errors.Is(e.Err, errStranger)
}

// String implements events.Event.
func (e Acted) String() string { return e.Line().String() }

var _ events.Event = Acted{}

// perform has an action done where it belongs.
func (c *handler) perform(ctx context.Context, a api.Action, by string) (*api.Result, error) {
	r, err := c.performed(ctx, a, by)
	c.station.host.Emit(Acted{Action: a, By: by, Err: err})
	c.cache.Clear() // its caller looks at what it has done
	if err != nil {
		return nil, err
	}
	return &r, nil
}

func (c *handler) performed(ctx context.Context, a api.Action, by string) (r api.Result, err error) {
	if err := check(a); err != nil {
		return r, err
	}
	at, err := c.route(ctx, a)
	if err != nil {
		return r, err
	}
	if a.Do == api.DoDown || a.Do == api.DoMove {
		to, err := c.named(a.Node)
		if err != nil {
			return r, err
		}
		a.Node = uidText(to)
	}
	return askOf[api.Result](ctx, c.station, at, actTimeout, query{Ask: askAct, Action: &a, By: by})
}

// check finds what an action lacks, before any node is asked.
func check(a api.Action) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s: %s", section.ErrBad, a.Do, fmt.Sprintf(format, args...))
	}
	needs := needs[a.Do]
	switch {
	case len(a.Shards) > api.ShardsMax:
		return bad("%d shards, at most %d at one time", len(a.Shards), api.ShardsMax)
	case len(a.Entity) > api.IDMax:
		return bad("an id of %d bytes, at most %d", len(a.Entity), api.IDMax)
	case needs.node && a.Node == "":
		return bad("name a node")
	case needs.typ && a.Type == "":
		return bad("name an entity type")
	case needs.shards && len(a.Shards) == 0:
		return bad("name shards")
	case needs.entity && a.Entity == "":
		return bad("name an entity")
	case needs.limit && a.Limit < 1:
		return bad("give a limit of 1 at least")
	}
	for _, s := range a.Shards {
		if s < 0 {
			return bad("shard %d", s)
		}
	}
	return nil
}

// needs says which fields each action must have.
var needs = map[string]struct{ node, typ, shards, entity, limit bool }{
	api.DoDown:       {node: true},
	api.DoLeave:      {node: true},
	api.DoDrain:      {node: true},
	api.DoRebalance:  {typ: true},
	api.DoMove:       {node: true, typ: true, shards: true},
	api.DoStopShards: {typ: true, shards: true},
	api.DoPassivate:  {typ: true, entity: true},
	api.DoLimit:      {typ: true, limit: true},
}

// act does an action on this node.
func (s *station) act(ctx context.Context, a api.Action, by string) (r api.Result, err error) {
	if err := check(a); err != nil { // what asks may be another version
		return r, err
	}
	switch a.Do {
	case api.DoDown:
		return s.down(a.Node)
	case api.DoLeave:
		s.leave(by)
		return api.Result{Text: fmt.Sprintf("%s leaves; it hands over for at most %v, and ends", s.node.Addr(),
			leaveTimeout)}, nil
	case api.DoPrepare:
		if err := s.node.PrepareForShutdown(ctx); err != nil {
			return r, err
		}
		return api.Result{Text: "all members that are reached know; stop every node now, in any order"}, nil
	}
	r.Text, err = s.actOnEntities(ctx, a)
	return r, err
}

func (s *station) down(name string) (r api.Result, err error) {
	m, ok := find(s.node.View(), name)
	if !ok {
		return r, fmt.Errorf("%w: no member is %q", section.ErrUnknown, name)
	}
	if err := s.node.Down(m.UID); err != nil {
		return r, err
	}
	return api.Result{Text: fmt.Sprintf("the members were told that %v %s is gone; a view without it follows", m.UID,
		m.Addr)}, nil
}

// leave has the node leave, which outlasts the request: what serves that ends, too.
func (s *station) leave(by string) {
	s.host.Log.Info("console: the node leaves", "by", by)
	s.host.Scheduler.Go(func() {
		ctx, cancel := s.host.Scheduler.WithTimeout(context.Background(), leaveTimeout)
		defer cancel()
		_ = s.node.Leave(ctx) // its failure is an event
	})
}

func (s *station) actOnEntities(ctx context.Context, a api.Action) (string, error) {
	e := section.Of(s.host)
	if e == nil {
		return "", fmt.Errorf("%w: no entity type was started on %s", section.ErrUnknown, s.node.Addr())
	}
	return e.Act(ctx, a)
}
