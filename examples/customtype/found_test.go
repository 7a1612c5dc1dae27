package main

import (
	"regexp"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/proptest"
	"github.com/coterie-go/coterie/proptest/failing"
)

// TestHasty fails on purpose: two nodes that vote at one time lose a vote.
func TestHasty(t *testing.T) {
	failing.OnPurpose(t)
	proptest.Laws[Hasty, *HastyTx, uint64]{
		Op:    rapid.Uint64Range(1, 3),
		Do:    (*HastyTx).Add,
		Value: func(v Hasty) any { return v.Count },
		Model: all,
	}.Check(t)
}

// stepOf finds the steps of a story.
var stepOf = regexp.MustCompile(`(?m)^ +(\d+)  [a-d]\d+ `)

// The mistake is found in less than ten seconds, and told in at most five steps.
func TestTheMistakeIsFound(t *testing.T) {
	const stepsMax = 5
	begun := time.Now()
	out := failing.Run(t, t.TempDir(), "TestHasty", "-rapid.shrinktime=1m", "-rapid.seed=1")
	took, most := time.Since(begun), 0
	for _, step := range stepOf.FindAllStringSubmatch(out, -1) {
		n, err := strconv.Atoi(step[1])
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, n)
	}
	if most == 0 || most > stepsMax {
		t.Errorf("it took %v, and the longest story has %d steps:\n%s", took, most, out)
	}
	t.Logf("found and made small in %v, to %d steps", took.Round(time.Millisecond), most)
}
