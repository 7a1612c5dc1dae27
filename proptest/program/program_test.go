package program

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// The variable counts before the path, and the first name before the others.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"second", "third", "elsewhere"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	missing := errors.New("missing")
	p := Program{
		Names: []string{"first", "second", "third"}, Bin: "TEST_BIN", Require: "TEST_REQUIRE", Missing: missing,
	}
	found := func(want string) {
		t.Helper()
		if got, err := p.Find(); err != nil || got != filepath.Join(dir, want) {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
	found("second")
	t.Setenv(p.Bin, filepath.Join(dir, "elsewhere"))
	found("elsewhere")
	t.Setenv(p.Bin, dir)
	if got, err := p.Find(); !errors.Is(err, missing) {
		t.Errorf("a folder is the program %q: %v", got, err)
	}
	t.Setenv(p.Bin, "")
	t.Setenv("PATH", t.TempDir())
	if got, err := p.Find(); !errors.Is(err, missing) || p.Required() {
		t.Errorf("%q: %v, required %t", got, err, p.Required())
	}
	if t.Setenv(p.Require, "1"); !p.Required() {
		t.Error("it is not required")
	}
}
