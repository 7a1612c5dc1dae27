package golden

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata/format"
)

// Sample is one encoding of a message, of a row, or of anything else that another build reads.
type Sample struct {
	Name  string
	Level format.Level // the first format level that has this form; 0 stands for format.Initial
	Bytes []byte       // as this build writes it
	// Read decodes bytes of this form; nil: the test reads what Stored returns.
	Read func([]byte) (any, error)
	Want any // what Read makes of Bytes
}

// Reads is a Sample.Read of a function that decodes.
func Reads[V any](decode func([]byte) (V, error)) func([]byte) (any, error) {
	return func(b []byte) (any, error) { return decode(b) }
}

// levelFile is where the samples of a format level lie.
func levelFile(l format.Level) string { return fmt.Sprintf("testdata/level%d.hex", l) }

// Formats holds the encodings of a package to files, testdata/level1.hex for those of level 1 and so on.
// A line holds a name and the bytes in hexadecimal. Builds that are out there read and write these bytes:
// the same must be written now, and what is in the file must be read as what it says.
//
// A form that comes with a later level has a Sample of its own beside the one before, with that Level, as
// long as format.Oldest is not above the one before. With the flag -update lines that a file lacks are
// added. It changes none: of a level that no release has had, take the line out first.
func Formats(t *testing.T, samples []Sample) {
	t.Helper()
	for l := format.Oldest; l <= format.Newest; l++ {
		of := slices.DeleteFunc(slices.Clone(samples), func(s Sample) bool {
			return cmp.Or(s.Level, format.Initial) != l
		})
		if err := checkLevel(levelFile(l), of, *update); err != nil {
			t.Error(err)
		}
	}
	for _, s := range samples {
		if l := cmp.Or(s.Level, format.Initial); l < format.Oldest || l > format.Newest {
			t.Errorf("%s is of level %d, which is not spoken", s.Name, l)
		}
	}
}

// checkLevel holds samples to their file, and adds those that it lacks if told so.
func checkLevel(file string, samples []Sample, add bool) error {
	var now strings.Builder
	for _, s := range samples {
		fmt.Fprintf(&now, "%s %x\n", s.Name, s.Bytes)
	}
	old, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && (add || len(samples) == 0):
	case err != nil:
		return err
	}
	if now.String() != string(old) {
		if !add || !isPart(strings.SplitAfter(string(old), "\n"), strings.SplitAfter(now.String(), "\n")) {
			return fmt.Errorf("%s:%s\nthe format has changed; -update adds lines and changes none",
				file, difference(string(old), now.String()))
		}
		err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(now.String()), 0o644))
		if err != nil {
			return err
		}
	}
	var errs []error
	for _, s := range samples { // whose bytes are those of the file
		if s.Read == nil {
			continue
		}
		if got, err := s.Read(s.Bytes); err != nil || !reflect.DeepEqual(got, s.Want) {
			errs = append(errs, fmt.Errorf("%s: %s is read as\n%#v, %v\nwant\n%#v", file, s.Name, got, err, s.Want))
		}
	}
	return errors.Join(errs...)
}

// isPart reports whether the lines stand among others, in the same order.
func isPart(lines, among []string) bool {
	for _, l := range among {
		if len(lines) > 0 && lines[0] == l {
			lines = lines[1:]
		}
	}
	return len(lines) == 0
}

// Line is a line of a file of Formats.
type Line struct {
	Name  string
	Bytes []byte
}

// Stored returns the lines of a level, for a test that reads them by other means than Sample.Read.
func Stored(t *testing.T, l format.Level) (lines []Line) {
	t.Helper()
	text, err := os.ReadFile(levelFile(l))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, digits, _ := cutLast(strings.TrimSuffix(line, "\n"), " ")
		b, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatalf("%s: %s: %v", levelFile(l), name, err)
		}
		lines = append(lines, Line{name, b})
	}
	return lines
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// Kinds fails the test if the code knows a kind of which there is no sample. kindOf tells the kind of
// an encoding.
func Kinds[K comparable](t *testing.T, known []K, samples []Sample, kindOf func([]byte) K) {
	t.Helper()
	for _, k := range known {
		if !slices.ContainsFunc(samples, func(s Sample) bool { return kindOf(s.Bytes) == k }) {
			t.Errorf("there are no golden bytes of kind %v", k)
		}
	}
	if len(known) == 0 {
		t.Error("no kinds are known")
	}
}
