package entities

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/sharding/failure"
)

// failures is a log of failures with a clock that the test moves.
type failures struct {
	failureLog
	now  time.Duration
	text bytes.Buffer
}

func newFailures() *failures {
	f := &failures{}
	f.failureLog = failureLog{
		log: slog.New(slog.NewTextHandler(&f.text, nil)), clock: func() time.Duration { return f.now },
		stacks: map[uint64]*toldStack{},
	}
	return f
}

// fail has an entity fail, and returns the lines that the log got.
func (f *failures) fail(id string, err error) []string {
	f.text.Reset()
	f.tell(Failure{Type: "Cart", ID: id, Err: err, Directive: Restart})
	return strings.Split(strings.TrimSuffix(f.text.String(), "\n"), "\n")
}

// thrown is what a handler fails with that panics, at one of two places.
func thrown(value any, elsewhere bool) (err error) {
	defer func() { err = fmt.Errorf("recover the entity: %w", failure.OfRecovered(recover())) }()
	if elsewhere {
		panic(value)
	}
	panic(value)
}

// An entity that fails again and again brings its stack once in a while, and a line at most each second.
func TestTheLogOfAFailingEntity(t *testing.T) {
	f, stacks, lines, told := newFailures(), 0, 0, 0
	const tries = 3 * 60 * 60 * 10 // in three hours, ten a second
	for i := range tries {
		f.now = time.Duration(i) * 100 * time.Millisecond
		for _, line := range f.fail("7", thrown(fmt.Sprint("no item ", i), false)) {
			if line == "" {
				continue
			}
			lines++
			if told += 1; strings.Contains(line, "stack=") {
				stacks++
			}
			var others int
			if _, after, ok := strings.Cut(line, "others_untold="); ok {
				_, _ = fmt.Sscan(after, &others)
			}
			told += others
		}
	}
	if stacks != 3*6 || lines > 3*60*60+1 || lines < 3*60*60 {
		t.Errorf("%d stacks in %d lines, want 18 in 10,800", stacks, lines)
	}
	if told < tries-10 || told > tries {
		t.Errorf("the lines tell of %d failures of %d", told, tries)
	}
}

// The stack that comes again says how often it came meanwhile.
func TestAStackThatComesAgain(t *testing.T) {
	f := newFailures()
	var last string
	for _, f.now = range []time.Duration{0, 1, 2, 3, 4, stackAgain} {
		last = f.fail("7", thrown("x", false))[0]
	}
	if !strings.Contains(last, "repeated=4") || !strings.Contains(last, "stack=") {
		t.Errorf("it says %q", last)
	}
}

// A failure at another place is told at once, with its stack, and one without a stack within a second.
func TestAnotherFailureIsTold(t *testing.T) {
	f := newFailures()
	f.fail("7", thrown("x", false))
	if got := f.fail("8", thrown("x", true)); !strings.Contains(got[0], "id=8") || !strings.Contains(got[0], "stack=") {
		t.Errorf("a panic elsewhere: %q", got)
	}
	if got := f.fail("9", errors.New("no connection")); got[0] != "" {
		t.Errorf("at once: %q", got)
	}
	f.now = lineEvery
	if got := f.fail("9", errors.New("no connection")); !strings.Contains(got[0], "id=9") ||
		!strings.Contains(got[0], "others_untold=1") || strings.Contains(got[0], "stack=") {
		t.Errorf("a second later: %q", got)
	}
}
