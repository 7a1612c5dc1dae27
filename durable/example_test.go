package durable_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/durable/lmdb"
)

// A simulator decides when a batch becomes durable and when the machine dies.
func ExampleMemory() {
	m := durable.NewMemory()
	table, err := m.Table("backend")
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"apple", "pear"} {
		table.Commit([]durable.Row{{Key: []byte(name), Value: []byte{1}}}, func(err error) {
			fmt.Println(name, "answered:", err)
		})
	}
	m.FlushN(1)

	m = m.Crash() // the pear was not flushed, and its caller never hears of it
	if table, err = m.Table("backend"); err != nil {
		panic(err)
	}
	_ = table.Load(func(r durable.Row) error {
		fmt.Printf("found: %s\n", r.Key)
		return nil
	})
	// Output:
	// apple answered: <nil>
	// found: apple
}

// A failure says for the operator which directory it is about, what was found, and what to do.
func ExampleError() {
	dir, err := os.MkdirTemp("", "shop")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.WriteFile(filepath.Join(dir, "holiday.jpg"), []byte("a picture"), 0o600); err != nil {
		panic(err)
	}
	var env durable.Env
	env, err = lmdb.Open(dir, lmdb.Options{})
	if failure := (*durable.Error)(nil); errors.As(err, &failure) {
		fmt.Println(errors.Is(err, durable.ErrForeign), failure.Path == dir)
		fmt.Println(failure.Detail)
		fmt.Println(failure.Remedy)
		return
	}
	fmt.Println("opened", env.Dir(), env.Close())
	// Output:
	// true true
	// it holds "holiday.jpg" and no coterie.node
	// give this node an empty directory or the one that it had
}
