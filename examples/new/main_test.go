package main

import (
	"bytes"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/doctor/manifests"
)

// What is made is formatted, compiles, is sound to vet, and passes its tests.
func TestNew(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shop")
	var out bytes.Buffer
	if err := generate(&out, "corner-shop", dir); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.String(), "corner-shop is made") {
		t.Errorf("it says %s", &out)
	}
	for _, command := range [][]string{
		{"mod", "tidy", "-diff"}, {"build", "."}, {"vet", "./..."}, {"test", "./..."},
	} {
		c := exec.Command("go", command...)
		c.Dir = dir
		if said, err := c.CombinedOutput(); err != nil {
			t.Errorf("go %s: %v\n%s", strings.Join(command, " "), err, said)
		}
	}
	sources, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(sources) == 0 {
		t.Fatal("no source is made", err)
	}
	for _, name := range sources {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if formatted, err := format.Source(text); err != nil || !bytes.Equal(text, formatted) {
			t.Errorf("%s is not formatted: %v", name, err)
		}
	}
	for _, name := range []string{"README.md", "Dockerfile", "manifests/service.yaml", "main.go"} {
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			t.Error(err)
		}
		if !bytes.Contains(text, []byte("corner-shop")) || bytes.Contains(text, []byte("{{")) {
			t.Errorf("%s is not filled in", name)
		}
	}
	manifest, err := os.ReadFile(filepath.Join(dir, "manifests", "service.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, finding := range manifests.Check(map[string][]byte{"service.yaml": manifest}, manifests.Options{
		Leave: 20 * time.Second, Founders: 2, Variables: manifests.Variables{Dir: "CORNER_SHOP_DIR"},
	}) {
		t.Errorf("the doctor says of the manifests: %s", finding)
	}
	// The second cluster finds what the first one has left.
	for _, want := range []string{"2", "4"} {
		answers := play(t, dir, filepath.Join(dir, "corner-shop"), "CORNER_SHOP")
		if !slices.Equal(answers, []string{want, want}) {
			t.Errorf("to add 2 and to read is answered %q, want twice %s", answers, want)
		}
	}
	if err := generate(&out, "corner-shop", dir); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("over what is there: %v", err)
	}
}

// A name that Go, Kubernetes or Docker would refuse is refused here.
func TestBadNames(t *testing.T) {
	for _, name := range []string{"", "Shop", "1st", "a_b", "a/b", "shop-", strings.Repeat("a", 41)} {
		err := generate(&bytes.Buffer{}, name, t.TempDir())
		if err == nil || !strings.Contains(err.Error(), "is no name") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
