package simtest

import (
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/failing"
)

// TestStuck fails on purpose: its world does not go on.
func TestStuck(t *testing.T) {
	failing.OnPurpose(t)
	g := newGuard(time.Millisecond)
	<-g.done
}

// A world that is stuck ends the process, and says why.
func TestGuard(t *testing.T) {
	const told = "the world is stuck for 1ms"
	if out := failing.Run(t, t.TempDir(), "TestStuck"); !strings.Contains(out, told) {
		t.Errorf("want %q in\n%s", told, out)
	}
}

// A model must not change the state that it is given.
func TestModelInPlace(t *testing.T) {
	count := func(seen map[string]int, msg string) (map[string]int, any) {
		if seen == nil {
			seen = map[string]int{}
		}
		seen[msg]++
		return seen, seen[msg]
	}
	h := history[string]{}
	for now := range int64(2) {
		h.end(h.begin(2*now, 0, input[string]{"a", true}), 2*now+1, int(now)+1)
	}
	const told = "from map[a:1] to map[a:2]"
	if _, err := judge(h, count); err == nil || !strings.Contains(err.Error(), told) {
		t.Errorf("want %q in %v", told, err)
	}
}
