package postgres_test

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/eventsourced"
	"github.com/coterie-go/coterie/sharding/ledger"
	"github.com/coterie-go/coterie/sharding/persistence/postgres"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
	"github.com/coterie-go/coterie/sharding/remember/journaled"
)

// Deposit is the command of an account, and Deposited its event.
type (
	Deposit   struct{ Cents int }
	Deposited struct{ Cents int }
)

// deposit answers a command with an event.
func deposit(
	_ *sharding.Context[Deposit], _ int, cmd Deposit,
) (effect eventsourced.Effect[Deposit, Deposited, int], err error) {
	return effect.Persist(Deposited(cmd)), nil
}

// The events of accounts are in PostgreSQL. So are the homes of their shards, the remembered ids, and the
// reminders: no node needs a directory. Offsets of projections are kept there by package readmodel.
func Example_withoutDisks() {
	_ = func(ctx context.Context, node *ddata.Node, dsn string) (*sharding.Region[Deposit], error) {
		pool, err := pgxpool.ParseConfig(dsn)
		if err != nil {
			return nil, err
		}
		store, err := postgres.Open(ctx, postgres.Config{Pool: pool})
		if err != nil {
			return nil, err
		}
		homes, err := ledger.New(ledger.Config{Type: "Account", Journal: store, Snapshots: store})
		if err != nil {
			return nil, err
		}
		ids, err := journaled.New(journaled.Config{Type: "Account", Journal: store, Snapshots: store})
		if err != nil {
			return nil, err
		}
		accounts, err := eventsourced.Persist(sharding.EntityType[Deposit]{
			Identity:     sharding.Identity{Name: "Account", Role: "backend"},
			Messages:     sharding.CBOR[Deposit](Deposit{}),
			Coordination: sharding.Coordination{Ledger: homes},
			Remember:     sharding.Remember{Entities: true, Store: ids},
			Reminders:    sharding.Reminders{Enabled: true, Store: store.Reminders("Account")},
		}, eventsourced.Behavior[Deposit, Deposited, int]{
			Journal: store, Events: schema.CBOR(schema.Type("deposited", Deposited{})),
			Handle: deposit, Apply: func(cents int, e Deposited) int { return cents + e.Cents },
			Snapshot: eventsourced.Snapshot[int]{Every: 100},
		})
		if err != nil {
			return nil, err
		}
		return sharding.Start(node, accounts)
	}
}
