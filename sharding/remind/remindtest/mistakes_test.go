package remindtest

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/proptest/failing"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remind"
	"github.com/coterie-go/coterie/sharding/remind/memory"
)

// unfenced is a store that does not look at the tokens of some calls.
type unfenced struct {
	*memory.Store
	due, of, all, update bool
}

func unless(mistake bool, by singleton.FencingToken) singleton.FencingToken {
	if mistake {
		return tool
	}
	return by
}

func (s unfenced) Due(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, until time.Time, limit int,
) ([]remind.Reminder, time.Time, error) {
	return s.Store.Due(ctx, unless(s.due, by), shard, until, limit)
}

func (s unfenced) Of(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, id protocol.EntityID,
) ([]remind.Reminder, error) {
	return s.Store.Of(ctx, unless(s.of, by), shard, id)
}

func (s unfenced) All(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, after remind.Key, limit int,
) ([]remind.Reminder, remind.Key, error) {
	return s.Store.All(ctx, unless(s.all, by), shard, after, limit)
}

func (s unfenced) Update(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, number uint64, changes []remind.Change,
) error {
	return s.Store.Update(ctx, unless(s.update, by), shard, number, changes)
}

// joint is a store in which all shards have one fence.
type joint struct{ *memory.Store }

func (s joint) Update(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, number uint64, changes []remind.Change,
) error {
	if _, err := s.Of(ctx, by, 99, ""); err != nil {
		return err
	}
	return s.Store.Update(ctx, by, shard, number, changes)
}

// hasty is a store that looks at the token of a change some time before it makes the change.
type hasty struct{ *memory.Store }

func (s hasty) Update(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, number uint64, changes []remind.Change,
) error {
	if _, err := s.Of(ctx, by, shard, ""); err != nil {
		return err
	}
	runtime.Gosched()
	return s.Store.Update(ctx, tool, shard, number, changes)
}

// orderless is a store in which an update has no number.
type orderless struct{ *memory.Store }

func (s orderless) Update(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, _ uint64, changes []remind.Change,
) error {
	return s.Store.Update(ctx, by, shard, 1, changes)
}

// tooled is a store in which a tool fences, as the highest hosting.
type tooled struct{ *memory.Store }

func (s tooled) Update(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, number uint64, changes []remind.Change,
) error {
	if by == tool {
		by = hosting(100)
	}
	return s.Store.Update(ctx, by, shard, number, changes)
}

// Each mistake about tokens is caught by its law.
func TestMistakes(t *testing.T) {
	failing.Quietly(t)
	const histories, atOneTime = "fenced histories", "fenced at one time"
	for name, c := range map[string]struct {
		law  string
		open func(m *memory.Store) remind.Store
	}{
		"Due":    {histories, func(m *memory.Store) remind.Store { return unfenced{Store: m, due: true} }},
		"Of":     {histories, func(m *memory.Store) remind.Store { return unfenced{Store: m, of: true} }},
		"All":    {histories, func(m *memory.Store) remind.Store { return unfenced{Store: m, all: true} }},
		"Update": {histories, func(m *memory.Store) remind.Store { return unfenced{Store: m, update: true} }},
		"joint":  {histories, func(m *memory.Store) remind.Store { return joint{m} }},
		"tooled": {histories, func(m *memory.Store) remind.Store { return tooled{m} }},
		"order":  {histories, func(m *memory.Store) remind.Store { return orderless{m} }},
		"hasty":  {atOneTime, func(m *memory.Store) remind.Store { return hasty{m} }},
	} {
		t.Run(name, func(t *testing.T) {
			const triesMax = 5000 // of what depends on goroutines, or on chance; most need one
			r := &recorder{T: t}
			for try := 0; try < triesMax && !r.failed.Load(); try++ {
				var done sync.WaitGroup
				done.Go(func() {
					fenced[c.law](r, func() (a, b remind.Store) {
						s := c.open(&memory.Store{})
						return s, s
					})
				})
				done.Wait()
			}
			if !r.failed.Load() {
				t.Errorf("%q does not catch it", c.law)
			}
		})
	}
}

// recorder is a test that may fail.
type recorder struct {
	*testing.T
	failed atomic.Bool
}

func (r *recorder) Logf(string, ...any)   {}
func (r *recorder) Log(...any)            {}
func (r *recorder) Errorf(string, ...any) { r.Fail() }
func (r *recorder) Error(...any)          { r.Fail() }
func (r *recorder) Fatalf(string, ...any) { r.FailNow() }
func (r *recorder) Fatal(...any)          { r.FailNow() }
func (r *recorder) Fail()                 { r.failed.Store(true) }
func (r *recorder) Failed() bool          { return r.failed.Load() }

func (r *recorder) FailNow() {
	r.Fail()
	runtime.Goexit()
}
