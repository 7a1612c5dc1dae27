package upgrade

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata/format"
)

// required is the environment variable with which this test fails where it could not be tried.
const required = "COTERIE_REQUIRE_UPGRADE"

// builds are the two programs.
type builds struct{ base, next string }

// makeBuilds makes both. It skips the test, in words, where git or the base is missing.
func makeBuilds(t *testing.T) builds {
	t.Helper()
	root, err := run("", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		notTried(t, "this is no clone of the repository: %v", err)
	}
	base := baseCommit(t)
	if base == "" {
		notTried(t, "testdata/base names no commit")
	}
	if _, err := run(root, "git", "cat-file", "-e", base+"^{commit}"); err != nil {
		notTried(t, "the clone does not have the base, commit %s: a shallow one has not", base)
	}
	dir := t.TempDir()
	source, archive := filepath.Join(dir, "base"), filepath.Join(dir, "base.tar")
	b := builds{base: filepath.Join(dir, "base.test"), next: filepath.Join(dir, "next.test")}
	if err := os.Mkdir(source, 0o700); err != nil {
		t.Fatal(err)
	}
	newest := fmt.Sprintf("-X github.com/coterie-go/coterie/ddata/format.rehearsed=%d", format.Newest+1)
	for _, command := range [][]string{
		{root, "git", "archive", "--format=tar", "-o", archive, base},
		{source, "tar", "-xf", archive},
		{source, "go", "test", "-c", "-o", b.base, "./proptest/upgrade"},
		{root, "go", "test", "-c", "-o", b.next, "-ldflags", newest, "./proptest/upgrade"},
	} {
		if _, err := run(command[0], command[1], command[2:]...); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// notTried says that nothing was tried, and why.
func notTried(t *testing.T, format string, args ...any) {
	t.Helper()
	text := "NOT TRIED: a roll-out of two builds: " + fmt.Sprintf(format, args...)
	if os.Getenv(required) != "" {
		t.Fatal(text)
	}
	t.Skip(text) // skip: the clone does not have what the test builds
}

// baseCommit reads the commit of the base.
func baseCommit(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/base")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line
		}
	}
	return ""
}

// run runs a command in a folder, and returns what it prints.
func run(dir, name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	c.Dir = dir
	var errs strings.Builder
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, errs.String())
	}
	return strings.TrimSpace(string(out)), nil
}
