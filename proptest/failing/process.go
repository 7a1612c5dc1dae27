package failing

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
	"time"
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

// stepsOf finds how many steps a story has.
var stepsOf = regexp.MustCompile(`after (\d+) steps`)

// seedsMost is how many seeds Found tries.
const seedsMost = 5

// Found runs a test of this binary that should fail, in processes and folders of their own, with one seed after
// the other until its story has at most so many steps. It returns the folder, and what was printed. rapid does
// not shrink there, because how far it gets is a matter of time: the steps are left to what follows it.
func Found(t *testing.T, test string, steps int, args ...string) (dir, out string) {
	t.Helper()
	began := time.Now()
	for seed := range seedsMost {
		dir = t.TempDir()
		out = Run(t, dir, test, append(args, "-rapid.shrinktime=1ns", fmt.Sprint("-rapid.seed=", seed+1))...)
		told := stepsOf.FindStringSubmatch(out)
		if told == nil {
			t.Fatalf("no story is told:\n%s", out)
		}
		if n, err := strconv.Atoi(told[1]); err == nil && n <= steps {
			t.Logf("%s: found and made small in %v, to %d steps", test, time.Since(began).Round(time.Millisecond), n)
			return dir, out
		}
	}
	t.Fatalf("no seed of %d has a story of at most %d steps; the last one has:\n%s", seedsMost, steps, out)
	return dir, out
}
