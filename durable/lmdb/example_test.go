package lmdb_test

import (
	"bytes"
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

// An operator looks at the directory of a node that is not running, and has its file written anew.
func ExampleOpenExisting() {
	dir, err := os.MkdirTemp("", "shop")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	env, err := lmdb.Open(dir, lmdb.Options{})
	if err != nil {
		panic(err)
	}
	table, err := env.Table("backend")
	if err != nil {
		panic(err)
	}
	table.Commit([]durable.Row{{Key: []byte("apple"), Value: []byte("\x01red")}}, func(error) {})
	if err := env.Close(); err != nil {
		panic(err)
	}

	if env, err = lmdb.OpenExisting(dir, lmdb.Options{}); err != nil {
		panic(err)
	}
	var contents lmdb.Contents
	if contents, err = env.Contents(); err != nil {
		panic(err)
	}
	fmt.Println(contents.Store, contents.Tables)
	if table, err = env.Table("backend"); err != nil {
		panic(err)
	}
	err = env.Moment(table, func(m *lmdb.Moment) error {
		value, err := m.Get([]byte("apple"))
		fmt.Printf("the apple is %s\n", value[1:])
		return err
	})
	fmt.Println(err, env.Stats().Queued, "bytes wait", env.Close())

	compacted, err := lmdb.Compact(dir, lmdb.Options{})
	fmt.Println(compacted.After <= compacted.Before, err)
	// Output:
	// true [backend]
	// the apple is red
	// <nil> 0 bytes wait <nil>
	// true <nil>
}

// A store says what its operator may want to know: that it has grown, was written anew, or has failed.
func ExampleOptions() {
	told := func(e lmdb.Event) {
		switch e := e.(type) {
		case lmdb.MapGrown:
			fmt.Println("grown from", e.From, "bytes to", e.To)
		case lmdb.Compacted:
			fmt.Println("written anew")
		case lmdb.CommitFailed:
			fmt.Println(e.Batches, "batches have failed:", e.Err)
		}
	}
	dir, err := os.MkdirTemp("", "shop")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	env, err := lmdb.Open(dir, lmdb.Options{MapSize: 1 << 20, OnEvent: told})
	if err != nil {
		panic(err)
	}
	table, err := env.Table("backend")
	if err != nil {
		panic(err)
	}
	large := bytes.Repeat([]byte{1}, 1<<20)
	table.Commit([]durable.Row{{Key: []byte("film"), Value: large}}, func(err error) { fmt.Println("stored:", err) })
	if err := env.Close(); err != nil {
		panic(err)
	}
	// Output:
	// grown from 1048576 bytes to 2097152
	// stored: <nil>
}
