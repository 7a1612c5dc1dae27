package golden

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata/format"
)

// counter adds what its commands say.
func counter(out *bytes.Buffer) Player {
	sum := 0
	return func(words []string) error {
		if words[0] != "add" {
			return errors.New("unknown command")
		}
		for _, w := range words[1:] {
			sum += len(w)
			fmt.Fprintf(out, "added %d\n  sum %d\n", len(w), sum)
		}
		return nil
	}
}

func TestRun(t *testing.T) {
	Run(t, "testdata/*.script", func(_ *testing.T, out *bytes.Buffer) Player { return counter(out) })
}

func TestPlay(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"new":              {"> add aa", "> add aa\n  added 2\n    sum 2\n"},
		"stale":            {"> add aa\n  added 9\n    sum 9\n", "> add aa\n  added 2\n    sum 2\n"},
		"prose and blanks": {"# p\n\n> add a\n  x\n\n# q\n", "# p\n\n> add a\n  added 1\n    sum 1\n\n# q\n"},
		"silent":           {"> add\n  stale\n> add b\n", "> add\n> add b\n  added 1\n    sum 1\n"},
		"no command":       {"> \nstale\n", "> \n"},
	} {
		var out bytes.Buffer
		got, err := play(c.script, &out, counter(&out))
		if err != nil || got != c.want {
			t.Errorf("%s: %v\n%q\n%q", name, err, got, c.want)
		}
		if again, err := play(got, &out, counter(&out)); err != nil || again != got {
			t.Errorf("%s: played again it differs: %v, %q", name, err, again)
		}
	}
	var out bytes.Buffer
	if _, err := play("# p\n> add a\n> spoil it\n", &out, counter(&out)); err == nil ||
		!strings.HasPrefix(err.Error(), "3: spoil it: unknown") {
		t.Error(err)
	}
}

func TestDifference(t *testing.T) {
	for _, c := range []struct{ want, got, text string }{
		{"a\nb\n", "a\nc\n", "2 differs\nwant: b\n got: c"},
		{"a", "a\nb", "2 differs\nwant: (the end)\n got: b"},
		{"a\nb", "a", "2 differs\nwant: b\n got: (the end)"},
	} {
		if text := difference(c.want, c.got); text != c.text {
			t.Errorf("%q", text)
		}
	}
}

// Whatever is in a script, playing it ends, and what it was rewritten to stays as it is.
func FuzzPlay(f *testing.F) {
	for _, s := range []string{
		"", "# p\n\n> add a\n  x\n\n# q", "> add\n  stale\n> add b c\n", "> \nstale\n", ">add\n> add \r\n \t\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, script string) {
		var out bytes.Buffer
		got, err := play(script, &out, counter(&out))
		if err != nil {
			return
		}
		if again, err := play(got, &out, counter(&out)); err != nil || again != got {
			t.Fatalf("%q became %q and then %q, %v", script, got, again, err)
		}
		_ = difference(script, got)
	})
}

// number reads one byte.
func number(b []byte) (int, error) {
	if len(b) != 1 {
		return 0, errors.New("not one byte")
	}
	return int(b[0]), nil
}

func TestFormats(t *testing.T) {
	samples := []Sample{
		{Name: "none"}, {Name: "two words", Bytes: []byte{0xa5, 0}},
		{Name: "number", Bytes: []byte{7}, Read: Reads(number), Want: 7},
	}
	Formats(t, samples)
	Kinds(t, []int{0, 1, 2}, samples, func(b []byte) int { return len(b) })
	want := []Line{{"none", []byte{}}, {"two words", []byte{0xa5, 0}}, {"number", []byte{7}}}
	if got := Stored(t, format.Initial); !reflect.DeepEqual(got, want) {
		t.Errorf("stored are %v", got)
	}
}

// What differs from the file is an error, with -update too; what the file lacks is added by it.
func TestAFileOfALevel(t *testing.T) {
	file := filepath.Join(t.TempDir(), "level1.hex")
	one := Sample{Name: "one", Bytes: []byte{1}, Read: Reads(number), Want: 1}
	two := Sample{Name: "two", Bytes: []byte{2}, Read: Reads(number), Want: 2}
	other, misread := one, one
	other.Bytes, misread.Want = []byte{9}, 3
	for i, c := range []struct {
		samples   []Sample
		add, fine bool
	}{
		{nil, false, true},                  // neither samples nor a file
		{[]Sample{two}, false, false},       // no file
		{[]Sample{two}, true, true},         // made
		{[]Sample{two}, false, true},        // as it is
		{[]Sample{one, two}, false, false},  // one that the file lacks
		{[]Sample{one, two}, true, true},    // added in front
		{[]Sample{one, two}, false, true},   // as it is
		{[]Sample{other, two}, true, false}, // changed
		{[]Sample{two}, true, false},        // gone
		{[]Sample{misread, two}, false, false},
		{[]Sample{one, two}, false, true}, // nothing has happened to the file
	} {
		if err := checkLevel(file, c.samples, c.add); (err == nil) != c.fine {
			t.Errorf("step %d: %v", i+1, err)
		}
	}
}
