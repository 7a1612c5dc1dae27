package durable_test

import (
	"fmt"

	"github.com/coterie-go/coterie/durable"
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
