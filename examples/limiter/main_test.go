package main

import (
	"testing"

	"github.com/coterie-go/coterie/examples/local/localtest"
)

func TestLimiter(t *testing.T) {
	localtest.Prints(t, run, `
alice: 5 of 8 requests are allowed
bob: 5 of 8 requests are allowed
`)
}
