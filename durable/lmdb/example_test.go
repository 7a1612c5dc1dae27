package lmdb_test

import (
	"errors"
	"fmt"
	"os"

	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/durable/lmdb"
)

func Example() {
	dir, err := os.MkdirTemp("", "shop")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	env, err := lmdb.Open(dir, lmdb.Options{})
	if err != nil {
		panic(err) // it names the file and says what to do
	}
	_, err = lmdb.Open(dir, lmdb.Options{})
	fmt.Println("a second opening is refused:", errors.Is(err, durable.ErrInUse))

	table, err := env.Table("backend")
	if err != nil {
		panic(err)
	}
	table.Commit([]durable.Row{
		{Key: []byte("apple"), Value: []byte("\x01red")},
		{Key: []byte("pear"), Value: []byte("\x01green")},
	}, func(err error) { fmt.Println("both are on the disk:", err == nil) })
	if err := env.Close(); err != nil { // waits for what is queued
		panic(err)
	}

	if env, err = lmdb.Open(dir, lmdb.Options{}); err != nil {
		panic(err)
	}
	defer env.Close()
	if table, err = env.Table("backend"); err != nil {
		panic(err)
	}
	_ = table.Load(func(r durable.Row) error {
		fmt.Printf("%s is %s\n", r.Key, r.Value[1:])
		return nil
	})
	// Output:
	// a second opening is refused: true
	// both are on the disk: true
	// apple is red
	// pear is green
}
