package main

import (
	"testing"

	"github.com/coterie-go/coterie/examples/local/localtest"
)

func TestPresence(t *testing.T) {
	localtest.Prints(t, run, `
online: alice bob carol
online: alice carol
online: alice
`)
}
