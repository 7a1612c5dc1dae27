package simtest

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/coterie-go/coterie/ddata/tracing/story"
	"github.com/coterie-go/coterie/ddata/tracing/viewer"
)

// seedsTried is with how many seeds a trial is played that has lost a step: what is left may need other
// delays to meet again.
const seedsTried = 3

// smallest leaves out, as long as that succeeds, each step without which the same promise is broken.
func smallest[M any](s subject[M], o outcome[M]) outcome[M] {
	for before := 0; before != o.x.steps(); {
		before = o.x.steps()
		for i := 0; i < o.x.steps(); {
			if less, fails := without(s, o, i); fails {
				o = less
			} else {
				i++
			}
		}
	}
	return o
}

// without plays a trial with one step less, and reports whether it fails in the same way.
func without[M any](s subject[M], o outcome[M], i int) (less outcome[M], fails bool) {
	x := o.x.without(i)
	for range seedsTried {
		less := s.play(x, nil)
		if v := less.violation; v != nil && v.Check == o.violation.Check {
			return less, true
		}
		next := *x
		next.seed++
		x = &next
	}
	return less, false
}

// explain prints the story of a failure, and writes its pages.
func explain[M any](t *testing.T, s subject[M], o outcome[M]) {
	t.Helper()
	replay := replayOf(here(), t.Name())
	t.Logf("simtest: %s, after %d steps: %s\n%v\nreplay: %s",
		o.violation.Check, o.x.steps(), o.violation.Text, o.story, replay)
	dir := filepath.Join("testdata", "rapid", fileName(t.Name()))
	log := story.NewLog(0)
	if again := s.play(o.x, log); again.story.String() != o.story.String() {
		t.Logf("simtest: the same trial has another story now, which the pages show: what runs there depends on "+
			"more than its messages, its Node and its Context, such as the time, goroutines, or what another "+
			"world has left in variables (Entity.Begin empties these).\n%s", parts(o.story.lines, again.story.lines))
	}
	page := viewer.Page{
		Title: t.Name() + ": " + o.violation.Check, Replay: replay,
		Records: log.Records(), Left: log.Left(),
	}
	err := errors.Join(os.MkdirAll(dir, 0o755),
		write(t, filepath.Join(dir, "story.html"), "what happened on which node", page.Write))
	if o.picture != nil {
		err = errors.Join(err, write(t, filepath.Join(dir, "operations.html"),
			"what was asked, and where no order of it is left", o.picture))
	}
	if err != nil {
		t.Errorf("simtest: a page of the failure is missing: %v", err)
	}
}

// replayOf is the command, for a shell, that runs a test of that name alone, of the package in a directory.
func replayOf(dir, name string) string {
	levels := strings.Split(name, "/")
	for i, l := range levels {
		levels[i] = "^" + regexp.QuoteMeta(l) + "$"
	}
	return "go -C " + quoted(dir) + " test -run " + quoted(strings.Join(levels, "/"))
}

// quoted is a word for a shell.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// here is the directory of the package that is tested.
func here() string {
	if dir, err := os.Getwd(); err == nil {
		return dir
	}
	return "."
}

// fileName is what rapid makes of the name of a test for the directory of its failures.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, name)
}

// parts shows where two stories part.
func parts(first, second []string) string {
	at := 0
	for at < min(len(first), len(second)) && first[at] == second[at] {
		at++
	}
	line := func(story []string) string {
		if at == len(story) {
			return "          (it ends)"
		}
		return story[at]
	}
	return "first:\n" + line(first) + "\nnow:\n" + line(second)
}

// write writes a page.
func write(t *testing.T, path, shows string, page func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	t.Logf("simtest: %s shows %s", path, shows)
	return errors.Join(page(f), f.Close())
}
