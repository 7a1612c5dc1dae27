package file

import (
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata/locks"
)

// Names are files of their own on every file system: none differs from another only in case or in
// how a letter is composed, and none is too long.
func TestFileNames(t *testing.T) {
	seen := map[string]string{}
	for _, name := range []string{
		"x", "X", "x/y", "x%2fy", "x%2Fy", "X/y", "x.lock", "x y", "x_y", ".", "..", "../x", "~", "\u00fc",
		"u\u0308", "\u00dc", "id", "ID",
		strings.Repeat("x", locks.NameMax), strings.Repeat("X", locks.NameMax),
		strings.Repeat("X", locks.NameMax-1) + "x",
	} {
		f := fileName(name)
		if f != strings.ToLower(f) || strings.ContainsAny(f, "/\\:") || len(f) > 200 {
			t.Errorf("%q is the file %q", name, f)
		}
		for _, r := range f {
			if r > 0x7e {
				t.Errorf("%q is the file %q, not in ASCII", name, f)
			}
		}
		if other, ok := seen[f]; ok {
			t.Errorf("%q and %q are one file %q", name, other, f)
		}
		seen[f] = name
	}
}
