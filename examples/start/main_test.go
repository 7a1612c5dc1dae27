package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain makes the test binary the program when it is started as that.
func TestMain(m *testing.M) {
	if os.Getenv("START_RUNS") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestTheCartIsThereAfterARestart starts the program twice in one directory: the second run finds
// what the first one put into the cart.
func TestTheCartIsThereAfterARestart(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, want := range []string{"cart-42 holds 2\n", "cart-42 holds 4\n"} {
		var log strings.Builder
		cmd := exec.CommandContext(t.Context(), self)
		cmd.Env, cmd.Dir, cmd.Stderr = append(os.Environ(), "START_RUNS=1"), dir, &log
		out, err := cmd.Output()
		if err != nil || string(out) != want {
			t.Errorf("it says %q, %v, want %q\n%s", out, err, want, log.String())
		}
	}
}

// TestCommandsOfTheReadme runs the commands that the README has for this program, in an empty directory.
func TestCommandsOfTheReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, script, _ := strings.Cut(string(readme), "TestCommandsOfTheReadme -->\n```sh\n")
	script, _, _ = strings.Cut(script, "```")
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for to, from := range map[string]string{"main.go": "main.go", "go.sum": "../../go.sum"} { // order: none matters
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, to), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var log strings.Builder
	sh := exec.CommandContext(t.Context(), "sh", "-ec", strings.ReplaceAll(script, "/path/to/coterie", root))
	sh.Dir, sh.Stderr = dir, &log
	if out, err := sh.Output(); err != nil || string(out) != "cart-42 holds 2\n" {
		t.Errorf("they say %q, %v\n%s", out, err, log.String())
	}
}

// TestTheProgramIsShort counts what the README has to show.
func TestTheProgramIsShort(t *testing.T) {
	const most = 40
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(program), "\n"); n > most {
		t.Errorf("main.go has %d lines, at most %d", n, most)
	}
}
