package seats

import (
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/failing"
)

// TestSoldTwice fails on purpose: an office that does not look at tokens sells a seat twice.
func TestSoldTwice(t *testing.T) {
	failing.OnPurpose(t)
	shows(true).Check(t)
}

// stepsOf finds how many steps are left of a failure.
var stepsOf = regexp.MustCompile(`after (\d+) steps`)

// The mistake is found in less than a minute, and told in few steps.
func TestTheMistakeIsFound(t *testing.T) {
	const stepsMax, within = 6, time.Minute
	begun := time.Now()
	out := failing.Run(t, t.TempDir(), "TestSoldTwice", "-rapid.checks=20000", "-rapid.shrinktime=5s")
	took := time.Since(begun)
	steps := stepsOf.FindStringSubmatch(out)
	if steps == nil {
		t.Fatalf("no story is told:\n%s", out)
	}
	if n, err := strconv.Atoi(steps[1]); err != nil || n > stepsMax || took > within {
		t.Errorf("it took %v, and %s steps are left:\n%s", took, steps[1], out)
	}
	t.Logf("found and made small in %v, to %s steps", took.Round(time.Millisecond), steps[1])
}
