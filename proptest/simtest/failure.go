package simtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata/tracing/story"
	"github.com/coterie-go/coterie/ddata/tracing/viewer"
)

// seedsTried is with how many seeds a trial is played that has lost a step: what is left may need other
// delays to meet again.
const seedsTried = 3

// smallest leaves out, as long as that succeeds, each step without which the same promise is broken.
func (c *clients[M, S]) smallest() *clients[M, S] {
	for before := 0; before != c.x.steps(); {
		before = c.x.steps()
		for i := 0; i < c.x.steps(); {
			if less := c.without(i); less != nil {
				c = less
			} else {
				i++
			}
		}
	}
	return c
}

// without is the same failure with one step less; nil: there is none.
func (c *clients[M, S]) without(i int) *clients[M, S] {
	x := c.x.without(i)
	for range seedsTried {
		less := play(c.e, x, nil)
		if v := less.result.Violation; v != nil && v.Check == c.result.Violation.Check {
			return less
		}
		next := *x
		next.seed++
		x = &next
	}
	return nil
}

// explain prints the story of a failure, and writes its pages.
func (c *clients[M, S]) explain(t *testing.T) {
	t.Helper()
	v := c.result.Violation
	t.Logf("simtest: %s, after %d steps and a last question to each entity: %s\n%v", v.Check, c.x.steps(), v.Text,
		&c.story)
	dir := filepath.Join("testdata", "rapid", strings.ReplaceAll(t.Name(), "/", "_"))
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = c.showStory(t, filepath.Join(dir, "story.html"))
	}
	if err == nil && c.broke {
		err = c.showOperations(t, filepath.Join(dir, "operations.html"))
	}
	if err != nil {
		t.Errorf("simtest: no page shows the failure: %v", err)
	}
}

// showStory writes what happened on which node.
func (c *clients[M, S]) showStory(t *testing.T, path string) error {
	log := story.NewLog(0)
	play(c.e, c.x, log)
	t.Logf("simtest: %s shows what happened on which node", path)
	return viewer.Page{
		Title: t.Name() + ": " + c.result.Violation.Check, Replay: "go test -run '^" + t.Name() + "$'",
		Records: log.Records(), Left: log.Left(),
	}.WriteFile(path)
}

// showOperations writes what was asked of the entity that broke its model.
func (c *clients[M, S]) showOperations(t *testing.T, path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	err = c.verdict.picture(f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	t.Logf("simtest: %s shows what was asked, and where no order of it is left", path)
	return err
}
