package golden

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
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

func TestBytes(t *testing.T) {
	Bytes(t, "testdata/numbers.hex", func(yield func(string, []byte) bool) {
		_ = yield("none", nil) && yield("two", []byte{0xa5, 0})
	})
}
