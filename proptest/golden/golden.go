package golden

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite golden scripts, and add golden bytes that are missing")

// Player carries out one command, given as its words, and prints what came of it to the buffer that
// it was begun with.
type Player func(words []string) error

const (
	prose   = "#"
	command = "> "
	indent  = "  "
)

// Run plays each file that matches pattern, such as "testdata/*.script", as a subtest of its name.
// begin makes the world of one script. What must hold when a script has ended, it checks in a
// cleanup of its t. No matching file is a failure, and so is a command's error, which ends its
// script.
func Run(t *testing.T, pattern string, begin func(t *testing.T, out *bytes.Buffer) Player) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts at %s: %v", pattern, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		t.Run(name, func(t *testing.T) { runFile(t, file, begin) })
	}
}

func runFile(t *testing.T, file string, begin func(*testing.T, *bytes.Buffer) Player) {
	script, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	got, err := play(string(script), &out, begin(t, &out))
	if err != nil {
		t.Fatalf("%s:%v", file, err)
	}
	switch {
	case got == string(script):
	case *update:
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s:%s\n-update rewrites it; then read the diff", file, difference(string(script), got))
	}
}

// play returns the script with what its commands print now. Its error begins with the line of the
// command that failed.
func play(script string, out *bytes.Buffer, do Player) (string, error) {
	var got strings.Builder
	n := 0
	for line := range strings.Lines(script) {
		n++
		text, isCommand := strings.CutPrefix(line, command)
		if !isCommand && !strings.HasPrefix(line, prose) && strings.TrimSpace(line) != "" {
			continue
		}
		got.WriteString(strings.TrimRight(line, "\n") + "\n")
		words := strings.Fields(text)
		if !isCommand || len(words) == 0 {
			continue
		}
		out.Reset()
		if err := do(words); err != nil {
			return "", fmt.Errorf("%d: %s: %w", n, strings.TrimSpace(text), err)
		}
		for printed := range strings.Lines(out.String()) {
			got.WriteString(indent + strings.TrimRight(printed, "\n") + "\n")
		}
	}
	return got.String(), nil
}

// difference shows the first line in which two scripts differ.
func difference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		a, b := lineAt(w, i), lineAt(g, i)
		if a != b {
			return fmt.Sprintf("%d differs\nwant: %s\n got: %s", i+1, a, b)
		}
	}
	return "0: no difference"
}

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(the end)"
}
