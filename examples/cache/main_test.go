package main

import (
	"testing"

	"github.com/coterie-go/coterie/examples/local/localtest"
)

func TestCache(t *testing.T) {
	localtest.Prints(t, run, `
node 1: a pen costs 499 cents; found 1 time
node 3: a pen costs 499 cents; found 1 time
node 2: forgot it, then found it again: 499 cents; found 2 times
`)
}
