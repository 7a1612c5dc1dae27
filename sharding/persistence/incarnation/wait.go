package incarnation

import (
	"errors"
	"log/slog"

	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/dataplane/spans"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/batch"
	"github.com/coterie-go/coterie/sharding/persistence/batch/calls"
)

// Wait holds the entity until a call of a store has answered, and goes on with rest then. An Ask that
// ends meanwhile names what it waits for. call gets what it has to call once. It keeps no worker
// meanwhile.
func Wait[M any](c *sharding.Context[M], what *batch.Pending, call func(done func(error)),
	rest func(c *sharding.Context[M], err error) error) error {
	a, err := c.Await()
	if err != nil {
		return err
	}
	a.For(what)
	end := traced(c, what.Kind())
	call(func(err error) {
		end(err)
		a.Continue(func(c *sharding.Context[M]) error { return rest(c, err) })
	})
	return nil
}

// traced begins the span of a call of a store within the trace of the message at hand. end gets the
// result of the call.
func traced[M any](c *sharding.Context[M], kind calls.Kind) (end func(error)) {
	s := sharding.SpansOf(c.Region())
	if s == nil {
		return func(error) {}
	}
	op := spans.Recover
	switch kind {
	case calls.Append, calls.SaveState, calls.SaveSnapshot:
		op = spans.Save
	}
	_, span := s.Begin(c, op, spans.Subject{ID: c.ID(), Shard: uint32(c.Shard())})
	if span.Records() {
		span.Add(slog.String("db.operation.name", kind.String()))
	}
	return span.End
}

// Client makes the client of a region, which lives as long as the region does. The configuration has
// the stores, of which there is one at least.
func Client[M any](g *sharding.Region[M], cfg batch.Config) *batch.Client {
	cfg.Name, cfg.Emit, cfg.Stopped, cfg.Scheduler = g.Name(), g.Emit, g.Stopped(), sharding.SchedulerOf(g)
	cfg.Meter = g.Meter()
	c, err := batch.New(cfg)
	if err != nil {
		panic(err)
	}
	g.ReadMetrics(c.Report)
	g.WhenUnhosted(func(s sharding.ShardID, token sharding.FencingToken) {
		c.End(persistence.Hosting{Type: g.Name(), Shard: s, Token: token})
	})
	return c
}

// HostingOf is the stay of the entity's shard on this node.
func HostingOf[M any](c *sharding.Context[M]) (persistence.Hosting, error) {
	token, err := c.Fence()
	return persistence.Hosting{Type: c.Region().Name(), Shard: c.Shard(), Token: token}, err
}

// IsFailure reports whether an error is that of an incarnation that does not know its state.
func IsFailure(err error) bool {
	_, is := errors.AsType[*Failure](err)
	return is
}
