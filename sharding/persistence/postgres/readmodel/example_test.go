package readmodel_test

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/postgres/readmodel"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
	"github.com/coterie-go/coterie/sharding/projection"
)

// Sold is the event of a shop.
type Sold struct{ Cents int }

// count adds a sale to the row of its shop.
func count(ctx context.Context, tx pgx.Tx, e projection.Recorded[Sold]) error {
	_, err := tx.Exec(ctx, `
INSERT INTO sales (shop, cents) VALUES ($1, $2) ON CONFLICT (shop) DO UPDATE SET cents = sales.cents + EXCLUDED.cents`,
		string(e.Entity), e.Event.Cents)
	return err
}

// The sales of each shop are a row of a table. Each sale counts once.
func Example() {
	_ = func(ctx context.Context, node *ddata.Node, journal persistence.Reader, pool *pgxpool.Pool) error {
		store, err := readmodel.Open(ctx, readmodel.Config{Pool: pool})
		if err != nil {
			return err
		}
		_, err = projection.Start(node, projection.Config[Sold]{
			Name: "sales", Role: "backend", Type: "Shop",
			Reader: journal, Events: schema.CBOR(schema.Type("sold", Sold{})),
			Target: readmodel.ExactlyOnce(store, count),
		})
		return err
	}
}
