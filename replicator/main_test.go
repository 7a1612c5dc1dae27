package replicator

import (
	"flag"
	"os"
	"testing"
)

// TestMain gives the random tests more steps than rapid's default, unless the command line says how
// many.
func TestMain(m *testing.M) {
	if f := flag.Lookup("rapid.steps"); f != nil {
		_ = f.Value.Set("120")
	}
	if f := flag.Lookup("rapid.nofailfile"); f != nil {
		_ = f.Value.Set("true")
	}
	flag.Parse()
	os.Exit(m.Run())
}
