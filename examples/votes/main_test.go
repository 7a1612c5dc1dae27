package main

import (
	"testing"

	"github.com/coterie-go/coterie/examples/local/localtest"
)

func TestVotes(t *testing.T) {
	localtest.Prints(t, run, `
coffee 120
tea 180
the winner is tea
a late vote: the vote is closed
`)
}
