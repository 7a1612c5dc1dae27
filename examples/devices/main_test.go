package main

import (
	"testing"

	"github.com/coterie-go/coterie/examples/local/localtest"
)

func TestDevices(t *testing.T) {
	localtest.Prints(t, run, `
node 1 has at most 100 of 1000 devices in memory: true
node 2 has at most 100 of 1000 devices in memory: true
node 3 has at most 100 of 1000 devices in memory: true
device-7 starts again for a question: 1 report, at most 7 degrees
`)
}
