package protocol

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the expected output of the scripts in testdata")

// TestScripts runs the scripts in testdata. A script is a list of blocks: prose behind #, a command a line, ---- and what came of it.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) { runScript(t, f) })
	}
}

func runScript(t *testing.T, file string) {
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	st := newStage()
	var out strings.Builder
	for i, block := range strings.Split(strings.TrimSpace(string(b)), "\n\n") {
		head, _, _ := strings.Cut(block, "\n----")
		var got strings.Builder
		for _, line := range strings.Split(head, "\n") {
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			st.out = &got
			if err := st.command(strings.Fields(line)); err != nil {
				t.Fatalf("%s: %q: %v", file, line, err)
			}
		}
		if i > 0 {
			out.WriteString("\n")
		}
		fmt.Fprintf(&out, "%s\n----\n%s", head, got.String())
	}
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if out.String() != string(b) {
		t.Errorf("%s: the output has changed; look at it with -update and git diff:\n%s", file, firstDifference(string(b), out.String()))
	}
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return fmt.Sprintf("line %d\nwant %s\ngot  %s", i+1, w[i], g[i])
		}
	}
	return fmt.Sprintf("%d lines, got %d", len(w), len(g))
}
