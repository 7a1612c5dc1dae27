package main

import (
	"testing"

	"github.com/coterie-go/coterie/examples/local/localtest"
)

func TestStrategy(t *testing.T) {
	localtest.Prints(t, run, "of 100 entities 0 are on the oldest node, and 100 on the others")
}
