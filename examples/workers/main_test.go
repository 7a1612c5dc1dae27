package main

import (
	"testing"

	"github.com/coterie-go/coterie/examples/local/localtest"
)

func TestWorkers(t *testing.T) {
	localtest.Prints(t, run, "40 jobs are done; the square of 39 is 1521")
}
