package postgres_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/sharding/persistence/persistencetest"
	"github.com/coterie-go/coterie/sharding/persistence/postgres"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// The laws of the port, through two pools, and again after both have been closed.
func TestLaws(t *testing.T) {
	persistencetest.Run(t, func(t testing.TB) *persistencetest.Opened { return twoDoors(t, newSchema()) })
}

func twoDoors(t testing.TB, schema string) *persistencetest.Opened {
	a, b := open(t, schema), open(t, schema)
	return &persistencetest.Opened{
		A: persistencetest.DoorOf(a), B: persistencetest.DoorOf(b),
		Damage: func(typ string, id protocol.EntityID, seq uint64) error {
			exec(t, suite.Server(t).DSN(), fmt.Sprintf(strings.ReplaceAll(`UPDATE @.events SET body = body || '\x01'
				WHERE seq = %d AND entity = '\x%x' AND kind = (SELECT id FROM @.kinds WHERE name = '\x%x')`,
				"@", quoted(schema)), seq, string(id), typ))
			return nil
		},
		Reopen: func(t testing.TB) *persistencetest.Opened {
			for _, s := range []*postgres.Store{a, b} {
				s.Close()
			}
			return twoDoors(t, schema)
		},
	}
}
