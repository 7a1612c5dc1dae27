package escaped

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What is cut is what was written, whatever follows; two sort as what they are of; and none begins like another.
func TestEscaped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SliceOf(rapid.SampledFrom([]byte{0, 1, 'a', 0xfe, 0xff}))
		a, b, rest := part.Draw(t, "a"), part.Draw(t, "b"), part.Draw(t, "rest")
		x, y := string(Append(nil, a)), string(Append(nil, b))
		if got, n, err := Cut(x + string(rest)); got != string(a) || n != len(x) || err != nil {
			t.Fatalf("%q is cut as %q, %d bytes: %v", x, got, n, err)
		}
		if strings.Compare(x, y) != bytes.Compare(a, b) || !bytes.Equal(a, b) && strings.HasPrefix(x, y) {
			t.Fatalf("%q and %q are written as %q and %q", a, b, x, y)
		}
		for n := range x {
			if got, _, err := Cut(x[:n]); err == nil {
				t.Fatalf("%d of %d bytes of %q are cut as %q", n, len(x), x, got)
			}
		}
	})
}

func TestCutRefuses(t *testing.T) {
	for _, s := range []string{"", "a", "a\x00", "a\x00b"} {
		if got, _, err := Cut(s); err == nil {
			t.Errorf("%q is cut as %q", s, got)
		}
	}
}
