package remember_test

import (
	"testing"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remember"
	"github.com/coterie-go/coterie/sharding/remember/remembertest"
)

func TestMemory(t *testing.T) {
	remembertest.Run(t, func(testing.TB) (a, b remember.Store) {
		m := &remember.Memory{}
		return m, m
	})
	remembertest.RunFenced(t, func(testing.TB) (a, b remember.Store) {
		m := &remember.Memory{}
		return m, m
	})
}

// A watcher hears of what changed, and of nothing else, until it ends its watch.
func TestMemoryIsWatched(t *testing.T) {
	m := &remember.Memory{}
	var heard []protocol.IDsChanged
	cancel := m.Watch(func(s protocol.ShardID, in protocol.IDsChanged) {
		if s == 2 {
			heard = append(heard, in)
		}
	})
	ids := []protocol.EntityID{"a"}
	for _, change := range []func() error{
		func() error { return m.Update(t.Context(), singleton.FencingToken{}, 2, ids, nil) },
		func() error { return m.Update(t.Context(), singleton.FencingToken{}, 2, ids, nil) },
		func() error { return m.Update(t.Context(), singleton.FencingToken{}, 2, nil, ids) },
		func() error { cancel(); return m.Update(t.Context(), singleton.FencingToken{}, 2, ids, nil) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
	}
	if len(heard) != 2 || len(heard[0].Added) != 1 || len(heard[1].Removed) != 1 {
		t.Errorf("heard %+v", heard)
	}
}
