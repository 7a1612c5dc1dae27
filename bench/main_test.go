package main

import (
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// asProgram makes this test binary the program itself: a bench may start it again as another process.
const asProgram = "BENCH_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// Each bench that a document names runs, made small, and prints its cases.
func TestDocumentedBenches(t *testing.T) {
	names := documented(t)
	if len(names) < 10 {
		t.Fatalf("the documents name %q", names)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most wait for timers
			c := exec.CommandContext(t.Context(), os.Args[0], "-n", "20", "-d", "50ms", name)
			c.Env = append(os.Environ(), asProgram+"=yes")
			if dir, err := os.MkdirTemp("/dev/shm", "bench"); err == nil { // how fast the disk is does not matter here
				defer os.RemoveAll(dir)
				c.Env = append(c.Env, "TMPDIR="+dir)
			}
			said, err := c.CombinedOutput()
			if err != nil || !strings.Contains(string(said), "bench="+name+" case=") {
				t.Errorf("%v\n%s", err, said)
			}
		})
	}
}

// documented returns the benches of commands in documents.
func documented(t *testing.T) (names []string) {
	t.Helper()
	command := regexp.MustCompile("go run \\./bench([^`\n]*)")
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(name, ".md") {
			return err
		}
		text, err := fs.ReadFile(os.DirFS(".."), name)
		for _, m := range command.FindAllStringSubmatch(string(text), -1) {
			for _, word := range strings.Fields(m[1]) {
				known := slices.ContainsFunc(benches, func(b bench) bool { return b.name == word })
				if known && !slices.Contains(names, word) {
					names = append(names, word)
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}
