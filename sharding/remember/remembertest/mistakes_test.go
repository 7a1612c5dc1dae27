package remembertest

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/proptest/failing"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remember"
)

// unfenced is a store that does not look at the tokens of some calls.
type unfenced struct {
	*remember.Memory
	load, update, list bool
}

func unless(mistake bool, by singleton.FencingToken) singleton.FencingToken {
	if mistake {
		return singleton.FencingToken{}
	}
	return by
}

func (s unfenced) Load(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID,
) ([]protocol.EntityID, error) {
	return s.Memory.Load(ctx, unless(s.load, by), shard)
}

func (s unfenced) Update(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, add, remove []protocol.EntityID,
) error {
	return s.Memory.Update(ctx, unless(s.update, by), shard, add, remove)
}

func (s unfenced) List(ctx context.Context, by singleton.FencingToken, add, remove []protocol.ShardID) error {
	return s.Memory.List(ctx, unless(s.list, by), add, remove)
}

// joint is a store in which all shards have one fence.
type joint struct{ *remember.Memory }

func (s joint) Load(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID,
) ([]protocol.EntityID, error) {
	if _, err := s.Memory.Load(ctx, by, 99); err != nil {
		return nil, err
	}
	return s.Memory.Load(ctx, by, shard)
}

func (s joint) List(ctx context.Context, by singleton.FencingToken, add, remove []protocol.ShardID) error {
	if _, err := s.Memory.Load(ctx, by, 99); err != nil {
		return nil // without an effect
	}
	return s.Memory.List(ctx, by, add, remove)
}

// Each mistake about tokens is caught by its law.
func TestMistakes(t *testing.T) {
	failing.Quietly(t)
	for name, c := range map[string]struct {
		law  string
		open func(m *remember.Memory) remember.Store
	}{
		"Load":        {"sets", func(m *remember.Memory) remember.Store { return unfenced{Memory: m, load: true} }},
		"Update":      {"sets", func(m *remember.Memory) remember.Store { return unfenced{Memory: m, update: true} }},
		"List":        {"list", func(m *remember.Memory) remember.Store { return unfenced{Memory: m, list: true} }},
		"joint sets":  {"sets", func(m *remember.Memory) remember.Store { return joint{m} }},
		"joint lists": {"list", func(m *remember.Memory) remember.Store { return joint{m} }},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{T: t}
			var done sync.WaitGroup
			done.Go(func() {
				fenced[c.law](r, func() (a, b remember.Store) {
					s := c.open(&remember.Memory{})
					return s, s
				})
			})
			done.Wait()
			if !r.failed {
				t.Errorf("%q does not catch it", c.law)
			}
		})
	}
}

// recorder is a test that may fail.
type recorder struct {
	*testing.T
	failed bool
}

func (r *recorder) Logf(string, ...any)   {}
func (r *recorder) Log(...any)            {}
func (r *recorder) Errorf(string, ...any) { r.Fail() }
func (r *recorder) Error(...any)          { r.Fail() }
func (r *recorder) Fatalf(string, ...any) { r.FailNow() }
func (r *recorder) Fatal(...any)          { r.FailNow() }
func (r *recorder) Fail()                 { r.failed = true }
func (r *recorder) Failed() bool          { return r.failed }

func (r *recorder) FailNow() {
	r.Fail()
	runtime.Goexit()
}
