package tidy

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestModulesHaveTheSameVersions: what a module within needs and the root, too, it needs in the version of the root.
// Otherwise all packages of the root that import it are compiled again for that module alone.
func TestModulesHaveTheSameVersions(t *testing.T) {
	root, _ := rootHere(t)
	wanted, modules := required(t, filepath.Join(root, "go.mod")), 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "go.mod" {
			return err
		}
		modules++
		for name, version := range required(t, path) { // order: each is looked at by itself
			if w := wanted[name]; w != "" && w != version {
				t.Errorf("%s needs %s %s, and the root %s: go get %s@… by name in one of them, then go mod tidy in all",
					path, name, version, w, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if modules < 2 || len(wanted) == 0 {
		t.Fatalf("%d modules found, the root needs %d", modules, len(wanted))
	}
}

// required reads the versions that a go.mod needs.
func required(t *testing.T, path string) map[string]string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); strings.HasPrefix(line, "\t") && len(f) >= 2 && strings.HasPrefix(f[1], "v") {
			versions[f[0]] = f[1]
		}
	}
	return versions
}
