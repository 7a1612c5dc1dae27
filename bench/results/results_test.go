package results_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/bench/results"
)

// The environment makes a process print the lines of a run, and end as it is told.
const (
	linesOf = "COTERIE_TEST_LINES"
	fails   = "COTERIE_TEST_FAILS"
)

func TestMain(m *testing.M) {
	if text := os.Getenv(linesOf); text != "" {
		fmt.Print(text)
		if os.Getenv(fails) != "" {
			os.Exit(3)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// printing makes processes, each of which prints the next text.
func printing(texts ...string) func(context.Context) *exec.Cmd {
	return func(ctx context.Context) *exec.Cmd {
		c := exec.CommandContext(ctx, os.Args[0], "-d", "2s", "tell")
		c.Env = append(os.Environ(), linesOf+"="+texts[0])
		if texts[0] == failing {
			c.Env = append(c.Env, fails+"=1")
		}
		texts = texts[1:]
		return c
	}
}

const failing = "bench=tell case=a per_s=1\n"

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text string
		want results.Line
		ok   bool
	}{
		{"bench=tell case=by-id per_s=8000000 p50_us=0.10 kind=x note=", results.Line{
			Bench: "tell", Case: "by-id", Figures: []results.Value{{"per_s", 8e6}, {"p50_us", 0.1}},
		}, true},
		{"bench=tell case=x", results.Line{Bench: "tell", Case: "x"}, true},
		{"case=x bench=tell", results.Line{}, false},
		{"bench= case=x a=1", results.Line{}, false},
		{"bench=tell a=1", results.Line{}, false},
		{"PostgreSQL: NOT TRIED: it is missing", results.Line{}, false},
		{"", results.Line{}, false},
	} {
		if l, ok := results.Parse(c.text); ok != c.ok || ok && !reflect.DeepEqual(l, c.want) {
			t.Errorf("%q: %+v, %v", c.text, l, ok)
		}
	}
}

// Three runs are one file: medians, and how far apart the values are, also of a figure that one run lacks.
func TestCollect(t *testing.T) {
	var out bytes.Buffer
	f, err := results.Collect(t.Context(), 3, &out, printing(
		"starting\nbench=tell case=a per_s=100 p50_us=1.5\nbench=ask case=b per_s=7\n",
		"bench=tell case=a per_s=300 p50_us=2.5\nbench=ask case=b per_s=7\n",
		"bench=tell case=a per_s=200\nbench=ask case=b per_s=7\n"))
	if err != nil || f.Runs != 3 || !strings.HasPrefix(out.String(), "starting\nbench=tell case=a per_s=100") {
		t.Fatalf("%+v, %v, %q", f, err, out.String())
	}
	o := f.Origin
	if fmt.Sprint(o.Command) != "[bench -d 2s tell]" || o.Go == "" || o.OS == "" || o.Cores < 1 || o.At.IsZero() {
		t.Errorf("%+v", o)
	}
	out.Reset()
	if err := f.WriteMedians(&out); err != nil || out.String() !=
		"bench=tell case=a runs=3 per_s=200 per_s_spread_percent=100 p50_us=2 p50_us_spread_percent=50\n"+
			"bench=ask case=b runs=3 per_s=7 per_s_spread_percent=0\n" {
		t.Errorf("%v, %s", err, out.String())
	}
	out.Reset()
	if err := f.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	back, err := results.ReadJSON(&out)
	if err != nil || !back.Origin.At.Equal(f.Origin.At) || !reflect.DeepEqual(back.Cases, f.Cases) || back.Runs != 3 {
		t.Errorf("%+v, %v", back, err)
	}
	f.Origin = results.Origin{OS: "linux", Arch: "amd64", Commit: "0123", Modified: true}
	f.Origin.Command = []string{"bench", "tell"}
	if err := f.WriteText(&out); err != nil || out.String() != `goos: linux
goarch: amd64
commit: 0123 modified
command: bench tell
BenchmarkTell/a 1 100 per_s 1.5 p50_us
BenchmarkTell/a 1 300 per_s 2.5 p50_us
BenchmarkTell/a 1 200 per_s
BenchmarkAsk/b 1 7 per_s
BenchmarkAsk/b 1 7 per_s
BenchmarkAsk/b 1 7 per_s
` {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// A run that fails is the last one; what was found before is kept.
func TestRunThatFails(t *testing.T) {
	f, err := results.Collect(t.Context(), 9, &bytes.Buffer{}, printing("bench=tell case=a per_s=100\n", failing))
	if err == nil || !strings.Contains(err.Error(), "run 2 of 9: exit status 3") || f.Runs != 1 ||
		fmt.Sprint(f.Cases) != "[{tell a [{per_s [100 1]}]}]" {
		t.Errorf("%+v, %v", f, err)
	}
	if _, err := results.Collect(t.Context(), 1, &bytes.Buffer{}, func(ctx context.Context) *exec.Cmd {
		return exec.CommandContext(ctx, filepath.Join(t.TempDir(), "none"))
	}); err == nil {
		t.Error("a program that is not there runs")
	}
}

// What was found is in both files, also if a run fails; a file that cannot be made is an error.
func TestKeep(t *testing.T) {
	dir := t.TempDir()
	k := results.Keep{Count: 3, JSON: filepath.Join(dir, "a.json"), Text: filepath.Join(dir, "a.txt")}
	var out bytes.Buffer
	err := k.Run(t.Context(), &out, printing("bench=tell case=a per_s=100\n", "bench=tell case=a per_s=200\n", failing))
	if err == nil || !strings.Contains(out.String(), "medians of 2 runs:\nbench=tell case=a runs=3 per_s=100 ") {
		t.Errorf("%v, %s", err, out.String())
	}
	text, err := os.ReadFile(k.Text)
	if err != nil || !strings.Contains(string(text), "BenchmarkTell/a 1 200 per_s\n") {
		t.Errorf("%v, %s", err, text)
	}
	b, err := os.ReadFile(k.JSON)
	if f, fault := results.ReadJSON(bytes.NewReader(b)); err != nil || fault != nil || f.Runs != 2 {
		t.Errorf("%+v, %v, %v", f, err, fault)
	}
	k.JSON = filepath.Join(dir, "none", "a.json")
	if err := k.Run(t.Context(), &out, printing(failing, failing, failing)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if err := (results.Keep{}).Run(t.Context(), &out, nil); err == nil || !strings.Contains(err.Error(), "-count 0") {
		t.Errorf("%v", err)
	}
	for _, w := range []struct {
		k    results.Keep
		want bool
	}{{results.Keep{Count: 1}, false}, {results.Keep{Count: 2}, true}, {results.Keep{Count: 1, Text: "x"}, true}} {
		if w.k.Wanted() != w.want {
			t.Errorf("%+v", w)
		}
	}
}
