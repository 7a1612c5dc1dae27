package main

import (
	"testing"

	"github.com/coterie-go/coterie/examples/local/localtest"
)

func TestOrders(t *testing.T) {
	localtest.Prints(t, run, "alice has made 100 orders, and spent 15000 cents")
}
