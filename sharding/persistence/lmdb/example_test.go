package lmdb_test

import (
	"context"
	"fmt"
	"os"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/lmdb"
)

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "entities")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx, h := context.Background(), persistence.Hosting{Type: "account", Shard: 1}
	for after := range uint64(2) { // the second time it goes on where it was
		store, err := lmdb.Open(dir, lmdb.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		refused, err := store.Append(ctx, h, []persistence.Write{{Entity: "17", After: after, ID: after,
			Events: []persistence.Event{{Name: "deposited", Body: []byte("10")}}}})
		fmt.Println(refused, err)
		ends, err := store.Load(ctx, h, []persistence.Read{{Entity: "17"}}, func(_ int, e persistence.Event) error {
			fmt.Println(e.Seq, e.Name)
			return nil
		})
		fmt.Println(ends, err, store.Close())
	}
	// Output:
	// [] <nil>
	// 1 deposited
	// [{0 1}] <nil> <nil>
	// [] <nil>
	// 1 deposited
	// 2 deposited
	// [{0 2}] <nil> <nil>
}
