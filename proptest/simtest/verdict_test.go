package simtest

import (
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"
)

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
		h.end(h.begin(2*now, 0, "a"), 2*now+1, int(now)+1)
	}
	const told = "from map[a:1] to map[a:2]"
	if _, err := judge(h, count); err == nil || !strings.Contains(err.Error(), told) {
		t.Errorf("want %q in %v", told, err)
	}
}

// A state may be an interface, whose zero is nil.
func TestModelWithoutType(t *testing.T) {
	count := func(before any, _ string) (any, any) {
		n, _ := before.(int)
		return n + 1, n + 1
	}
	var h history[string]
	h.end(h.begin(0, 0, "a"), 1, 1)
	if v, err := judge(h, count); err != nil || v.result != porcupine.Ok {
		t.Errorf("%v, %v", v.result, err)
	}
}
