package file_test

import (
	"context"
	"fmt"
	"os"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/file"
	"github.com/coterie-go/coterie/ddata/membership/downing"
)

// Processes of one host share a directory of leases.
func ExampleDir() {
	dir, err := os.MkdirTemp("", "leases")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var leases *file.Dir
	if leases, err = file.Open(dir); err != nil {
		fmt.Println(err)
		return
	}
	cfg := ddata.Config{Downing: downing.LeaseMajority{}, Leases: leases} // and the rest, for ddata.Start
	lock, err := cfg.Leases.Lock("reports", "this process")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = lock.Close() }()
	fmt.Println(lock.Acquire(context.Background(), nil))
	fmt.Println(lock.Until().Equal(locks.Forever)) // as long as the process lives
	// Output:
	// true <nil>
	// true
}
