package main

import (
	"testing"

	"github.com/coterie-go/coterie/examples/local/localtest"
)

func TestCustomType(t *testing.T) {
	localtest.Prints(t, run, `
node 1 has got 10 votes
node 2 has got 20 votes
node 3 has got 30 votes
node 1 reads 60
node 2 reads 60
node 3 reads 60
`)
}
