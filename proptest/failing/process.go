package failing

import (
	"os"
	"os/exec"
	"testing"
)

// runs is set in the processes of Run.
const runs = "COTERIE_FAILS_HERE"

// OnPurpose skips a test that fails on purpose, unless Run runs it.
func OnPurpose(t *testing.T) {
	t.Helper()
	if os.Getenv(runs) == "" {
		// skip: it fails on purpose, and another test runs it
		t.Skip("it fails on purpose, in a process of its own")
	}
}

// Run runs a test of this binary that should fail, in a process and a folder of its own, and returns what it
// prints. args are more flags. A test that passes fails t.
func Run(t *testing.T, dir, test string, args ...string) string {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, append([]string{"-test.run=^" + test + "$"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), runs+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("nothing was found:\n%s", out)
	}
	return string(out)
}
