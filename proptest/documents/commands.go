package documents

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// run names the test that runs a command which documents show in blocks: its file and its name.
type run struct{ file, test string }

const (
	demo   = "examples/quickstart/demo_test.go"
	itself = "proptest/documents/documents_test.go"

	counterTest, counts = "examples/counter/main_test.go", "TestCountsAreThereAfterARestart"

	rewriting = "go -C proptest/documents run ./cmd/documents"
)

// runs are the commands of blocks. A command that documents show is here, or the block says why it
// is not run.
var runs = map[string]run{
	"make demo":                     {demo, "TestDemo"},
	"make test":                     {itself, "TestDocuments"}, // which is a part of it
	"go run ./examples/quickstart":  {demo, "TestDemo"},
	"go run ./examples/start":       {"examples/start/main_test.go", "TestTheCartIsThereAfterARestart"},
	"go test ./examples/bank":       {"examples/bank/account_test.go", "TestAccount"},
	"go test ./examples/seats/...":  {"examples/seats/show_test.go", "TestShows"},
	"go test ./examples/customtype": {"examples/customtype/votes_test.go", "TestVotes"},
	rewriting:                       {itself, "TestRewritten"},

	"go run ./examples/cache":                {"examples/cache/main_test.go", "TestCache"},
	"go run ./examples/cart":                 {"examples/cart/main_test.go", "TestCart"},
	"go run ./examples/chat":                 {"examples/chat/main_test.go", "TestChat"},
	"go run ./examples/counter":              {counterTest, counts},
	"go run ./examples/devices":              {"examples/devices/main_test.go", "TestDevices"},
	"go run ./examples/customtype":           {"examples/customtype/main_test.go", "TestCustomType"},
	"go run ./examples/flags":                {"examples/flags/main_test.go", "TestFlags"},
	"go run ./examples/limiter":              {"examples/limiter/main_test.go", "TestLimiter"},
	"go run ./examples/orders":               {"examples/orders/main_test.go", "TestOrders"},
	"go run ./examples/presence":             {"examples/presence/main_test.go", "TestPresence"},
	"go run ./examples/strategy":             {"examples/strategy/main_test.go", "TestStrategy"},
	"go run ./examples/votes":                {"examples/votes/main_test.go", "TestVotes"},
	"go run ./examples/workers":              {"examples/workers/main_test.go", "TestWorkers"},
	"go run ./examples/counter -store ddata": {counterTest, counts},
}

// Commands looks for commands in blocks of which no test is known, and for commands in the text that
// name something that is not there.
func (d *Document) Commands(root string) (findings []string) {
	for _, f := range d.fences {
		if reason, is := strings.CutPrefix(f.before, notRun); f.kind != "sh" || is && len(strings.Fields(reason)) > 1 {
			continue
		}
		for i, line := range strings.Split(strings.ReplaceAll(f.text, "\\\n", "  "), "\n") {
			command := strings.Join(strings.Fields(strings.SplitN(line, " #", 2)[0]), " ")
			if command == "" || strings.HasPrefix(f.before, "run by ") {
				continue
			}
			if _, known := runs[command]; !known {
				findings = append(findings, d.finding(f.line+i, "no test is known that runs %q: add it to runs in "+
					"commands.go, or put <!-- run by FILE TEST --> or <!-- not run: REASON --> before the block",
					command))
			}
		}
		if by, is := strings.CutPrefix(f.before, "run by "); is {
			file, test, _ := strings.Cut(by, " ")
			if err := (run{path.Join(path.Dir(d.Name), file), test}).check(root); err != nil {
				findings = append(findings, d.finding(f.line, "%v", err))
			}
		}
	}
	for _, s := range d.spans {
		if err := exists(root, s.text); err != nil {
			findings = append(findings, d.finding(s.line, "`%s`: %v", s.text, err))
		}
	}
	return findings
}

// check looks for the test.
func (r run) check(root string) error {
	src, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(r.file)))
	if err == nil && !strings.Contains(string(src), "func "+r.test+"(") {
		err = fmt.Errorf("%s has no test %s", r.file, r.test)
	}
	return err
}

var (
	makeJob   = regexp.MustCompile(`^make ([a-z]+)`)
	goCommand = regexp.MustCompile(`^go (?:-C (\S+) )?(?:run|test) .*?(\./\S*)`)
	goTest    = regexp.MustCompile(`^go (?:-C (\S+) )?test .*?-run '?\^?([A-Za-z|]+)`)
	benchmark = regexp.MustCompile(`^go run \./bench( .*)?$`)
)

// exists looks for what a command names: a job, a package, a test, a benchmark.
func exists(root, command string) error {
	at := func(parts ...string) string { return filepath.Join(append([]string{root}, parts...)...) }
	if m := makeJob.FindStringSubmatch(command); m != nil {
		makefile, err := os.ReadFile(at("Makefile"))
		if err == nil && !strings.Contains("\n"+string(makefile), "\n"+m[1]+":") {
			err = fmt.Errorf("the Makefile has no job %s", m[1])
		}
		return err
	}
	if m := goCommand.FindStringSubmatch(command); m != nil {
		dir := strings.TrimSuffix(m[2], "/...")
		if _, err := os.Stat(at(m[1], dir)); err != nil {
			return err
		}
		if t := goTest.FindStringSubmatch(command); t != nil {
			return hasTests(at(m[1], dir), strings.Split(t[2], "|"))
		}
	}
	if m := benchmark.FindStringSubmatch(command); m != nil {
		return hasBenchmarks(at("bench", "main.go"), strings.Fields(m[1]))
	}
	return nil
}

// hasTests looks for tests whose names begin with these.
func hasTests(dir string, names []string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return err
	}
	var all strings.Builder
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		all.Write(src)
	}
	for _, name := range names {
		if name != "" && !strings.Contains(all.String(), "func "+name) {
			return fmt.Errorf("%s has no test %s", dir, name)
		}
	}
	return nil
}

// hasBenchmarks looks for the programs of bench that a command names.
func hasBenchmarks(main string, args []string) error {
	src, err := os.ReadFile(main)
	if err != nil {
		return err
	}
	for i := 0; i < len(args); i++ {
		if strings.HasPrefix(args[i], "-") {
			i++ // and its value
			continue
		}
		if !strings.Contains(string(src), `"`+args[i]+`"`) {
			return fmt.Errorf("bench has no %s", args[i])
		}
	}
	return nil
}

// Runs looks for tests of commands that are not there.
func Runs(root string) (findings []string) {
	for _, command := range slices.Sorted(maps.Keys(runs)) {
		if err := runs[command].check(root); err != nil {
			findings = append(findings, fmt.Sprintf("%s: %v", command, err))
		}
	}
	return findings
}
