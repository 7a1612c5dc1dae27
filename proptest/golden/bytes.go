package golden

import (
	"fmt"
	"iter"
	"os"
	"strings"
	"testing"
)

// Bytes compares encodings with those in a file: a line holds a name and the bytes in hexadecimal.
// Other versions of the program read these bytes, so a difference is a change of the format. With
// the flag -update it writes the file instead.
func Bytes(t *testing.T, file string, encodings iter.Seq2[string, []byte]) {
	t.Helper()
	var got strings.Builder
	for name, b := range encodings {
		fmt.Fprintf(&got, "%s %x\n", name, b)
	}
	want, err := os.ReadFile(file)
	switch {
	case *update:
		err = os.WriteFile(file, []byte(got.String()), 0o644)
	case err == nil && got.String() != string(want):
		t.Errorf("%s:%s\nthe format has changed; -update rewrites the file",
			file, difference(string(want), got.String()))
	}
	if err != nil {
		t.Fatal(err)
	}
}
