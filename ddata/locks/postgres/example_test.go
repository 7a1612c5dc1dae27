package postgres_test

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/locks/postgres"
	"github.com/coterie-go/coterie/ddata/membership/downing"
)

// The lease of LeaseMajority is kept in a database. The store is closed after the node.
func ExampleOpen() {
	ctx := context.Background()
	pool, err := pgxpool.ParseConfig("postgres://app@db.example.org/shop?target_session_attrs=read-write")
	if err != nil {
		fmt.Println(err)
		return
	}
	leases, err := postgres.Open(ctx, postgres.Config{Pool: pool})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer leases.Close()
	n, err := ddata.Start(ctx, ddata.Config{Name: "shop", Downing: downing.LeaseMajority{}, Leases: leases})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer n.Close()
}
