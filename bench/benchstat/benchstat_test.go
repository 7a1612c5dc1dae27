package benchstat

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/coterie-go/coterie/bench/results"
)

// written writes the text of ten runs whose rate lies around a value.
func written(t *testing.T, name string, rate float64) string {
	t.Helper()
	f := results.File{Origin: results.Origin{OS: "linux", Arch: "amd64"}}
	for i := range 10 {
		l, ok := results.Parse("bench=tell case=by-id")
		if !ok {
			t.Fatal("the line is none")
		}
		l.Figures = []results.Value{{Name: "per_s", Value: rate + float64(i)}, {Name: "p50_us", Value: 7}}
		f.Add(l)
	}
	file := filepath.Join(t.TempDir(), name)
	w, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := f.WriteText(w); err != nil {
		t.Fatal(err)
	}
	return file
}

// The program reads the texts of package results, and sees what has changed, and what has not.
func TestCompare(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "tool", "benchstat", written(t, "old.txt", 1000),
		written(t, "new.txt", 2000)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{`Tell/by-id .*\+99\.\d+% \(p=0\.000 n=10\)`, `Tell/by-id .* ~ `, `per_s`, `p50_us`} {
		if !regexp.MustCompile(want).Match(out) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
}
