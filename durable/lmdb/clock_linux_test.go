package lmdb

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTimeNamespacesTellClocksApart: two namespaces of one name have two clocks when what they add
// differs, and a process in another namespace than its children has none.
func TestTimeNamespacesTellClocksApart(t *testing.T) {
	proc := func(own, children, offsets string) string {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "ns"), dirMode); err != nil {
			t.Fatal(err)
		}
		for name, to := range map[string]string{"time": own, "time_for_children": children} {
			if to == "" {
				continue
			}
			if err := os.Symlink(to, filepath.Join(dir, "ns", name)); err != nil {
				t.Fatal(err)
			}
		}
		if offsets == "" {
			return dir
		}
		if err := os.WriteFile(filepath.Join(dir, "timens_offsets"), []byte(offsets), fileMode); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	seen := map[string]string{}
	for name, dir := range map[string]string{
		"none":          proc("", "", ""),
		"usual":         proc("time:[1]", "time:[1]", "monotonic 0 0\n"),
		"another":       proc("time:[2]", "time:[2]", "monotonic 0 0\n"),
		"the name anew": proc("time:[2]", "time:[2]", "monotonic 5 0\n"),
	} {
		space, err := timeNamespace(dir)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if other, twice := seen[space]; twice {
			t.Errorf("%s is taken for %s", name, other)
		}
		seen[space] = name
	}
	for name, dir := range map[string]string{
		"its children are elsewhere": proc("time:[1]", "time:[2]", "monotonic 0 0\n"),
		"children unknown":           proc("time:[1]", "", "monotonic 0 0\n"),
		"offsets unknown":            proc("time:[1]", "time:[1]", ""),
		"nothing is known":           t.TempDir(),
	} {
		if space, err := timeNamespace(dir); err == nil {
			t.Errorf("%s: %q", name, space)
		}
	}
	if _, known := kernelClock(); !known {
		t.Log("this system's clock is not known")
	}
}
