package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/coterie-go/coterie/bench/results"
)

// rootModule is the module that has Coterie and its benches.
const rootModule = "github.com/coterie-go/coterie"

// moduleDir is where the sources of a module are.
func moduleDir(ctx context.Context, module ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", append([]string{"list", "-m", "-f", "{{.Dir}}"}, module...)...).Output()
	if err != nil {
		return "", fmt.Errorf("where the module %v is: %w", module, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// coterie is the program of go run ./bench.
type coterie struct{ root, program string }

// buildCoterie builds the benches into a directory.
func buildCoterie(ctx context.Context, dir string) (c coterie, err error) {
	if c.root, err = moduleDir(ctx, rootModule); err != nil {
		return c, err
	}
	c.program = filepath.Join(dir, "bench")
	build := exec.CommandContext(ctx, "go", "build", "-o", c.program, "./bench")
	build.Dir = c.root
	if out, err := build.CombinedOutput(); err != nil {
		return c, fmt.Errorf("build of the benches: %w\n%s", err, out)
	}
	return c, nil
}

// benchTime is how long one run of Coterie's benches may take.
const benchTime = 10 * time.Minute

// run runs benches with arguments, each in a process of its own, and adds what they print to f.
func (c coterie) run(ctx context.Context, runs [][]string, f *results.File) error {
	ctx, cancel := context.WithTimeout(ctx, benchTime)
	defer cancel()
	for _, args := range runs {
		got, err := results.Collect(ctx, 1, io.Discard, func(ctx context.Context) *exec.Cmd {
			cmd := exec.CommandContext(ctx, c.program, args...) // its processes end when it does
			cmd.Dir, cmd.Stderr = c.root, os.Stderr
			return cmd
		})
		if err != nil {
			return fmt.Errorf("bench %s: %w", strings.Join(args, " "), err)
		}
		f.Cases = append(got.Cases, f.Cases...) // what came last is found first
	}
	return nil
}

// coterieLine are the figures of Coterie for a work. Of failover it adds up those that the peers have: the time from
// the kill until entities answer elsewhere.
func coterieLine(f results.File, w work) found {
	bench, name, _ := strings.Cut(w.coterie, "/")
	l := lineOf(f, bench, name)
	if w.coterie == "failover/owner" && l != nil {
		l["median_ms"] = l["downed_ms"] + l["median_after_downed_ms"]
		l["last_ms"] = l["downed_ms"] + l["max_after_downed_ms"]
		l["failed"] = l["failed_until_cut"] + l["failed_until_downed"] + l["failed_after_downed"]
	}
	return l
}

const protoModule = "github.com/asynkron/protoactor-go"

// builtWith is the version of a module in this program.
func builtWith(module string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == module {
				return m.Version
			}
		}
	}
	return "unknown"
}

var pekkoArtifact = regexp.MustCompile(`<artifactId>pekko-cluster-sharding[^<]*</artifactId>\s*<version>([^<]+)<`)

// pekkoVersion is the version that Maven is told to take.
func pekkoVersion(root string) string {
	b, _ := os.ReadFile(filepath.Join(root, "bench", "peers", "pekko", "pom.xml"))
	if m := pekkoArtifact.FindSubmatch(b); m != nil {
		return string(m[1])
	}
	return "unknown"
}

// origin says where and of what the rows are, as a comment of the output.
func (c coterie) origin(ctx context.Context) string {
	var words []string
	for _, cmd := range [][]string{{"git", "rev-parse", "--short", "HEAD"}, {"go", "version"}, {"java", "-version"}} {
		out, err := exec.CommandContext(ctx, cmd[0], cmd[1:]...).CombinedOutput()
		first, _, _ := strings.Cut(string(out), "\n")
		if err != nil {
			first = "unknown"
		}
		words = append(words, cmd[0]+": "+first)
	}
	words = append(words, fmt.Sprintf("protoactor-go: %s; pekko: %s", builtWith(protoModule), pekkoVersion(c.root)),
		fmt.Sprintf("machine: %s, %d cores; command: go run . %s", cmp.Or(results.Processor(), "unknown"),
			runtime.NumCPU(), strings.Join(os.Args[1:], " ")))
	return "# " + time.Now().UTC().Format("2006-01-02 15:04 MST") + "; " + strings.Join(words, "; ")
}
