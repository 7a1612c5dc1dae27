package idle

import (
	"testing"
	"time"
)

func TestTheMostSpecialRuleCounts(t *testing.T) {
	e := New(map[string]time.Duration{"a*": 1, "ab*": 2, "*c": 3, "abc": 4, "b*": 5, "*b": 6})
	for key, want := range map[string]time.Duration{
		"a": 1, "abd": 2, "abc": 4, "abcc": 2, "xc": 3, "ac": 3, "bb": 6, "ba": 5, "z": 0,
	} {
		got := time.Duration(0)
		if r := e.ruleOf(key); r != nil {
			got = r.after
		}
		if got != want {
			t.Errorf("%q expires after %d, want %d", key, got, want)
		}
	}
}
