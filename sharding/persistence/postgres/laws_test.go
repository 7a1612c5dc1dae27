package postgres_test

import (
	"testing"

	"github.com/coterie-go/coterie/sharding/persistence/persistencetest"
	"github.com/coterie-go/coterie/sharding/persistence/postgres"
)

// The laws of the port, through two pools, and again after both have been closed.
func TestLaws(t *testing.T) {
	persistencetest.Run(t, func(t testing.TB) *persistencetest.Opened { return twoDoors(t, newSchema()) })
}

func twoDoors(t testing.TB, schema string) *persistencetest.Opened {
	a, b := open(t, schema), open(t, schema)
	return &persistencetest.Opened{
		A: persistencetest.DoorOf(a), B: persistencetest.DoorOf(b),
		Reopen: func(t testing.TB) *persistencetest.Opened {
			for _, s := range []*postgres.Store{a, b} {
				s.Close()
			}
			return twoDoors(t, schema)
		},
	}
}
