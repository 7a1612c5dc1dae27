// Package failing is for tests that want a property to fail: those that show that a law catches a
// planted mistake.
package failing

import (
	"flag"
	"testing"
)

// Quietly has rapid neither shrink what fails on purpose, nor keep it, until the test ends. It is for
// tests that do not run in parallel.
func Quietly(t *testing.T) {
	t.Helper()
	for name, value := range map[string]string{"rapid.nofailfile": "true", "rapid.shrinktime": "1ns"} {
		f := flag.Lookup(name)
		before := f.Value.String()
		if err := f.Value.Set(value); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Value.Set(before) })
	}
}
