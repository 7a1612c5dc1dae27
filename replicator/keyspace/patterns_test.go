package keyspace

import "testing"

func TestPatternsOfDurableKeys(t *testing.T) {
	p := NewPatterns([]string{"one", "two*", "sharding/*/ids/*", "*end"})
	for key, want := range map[string]bool{
		"one": true, "one1": false, "two": true, "two/x": true, "tw": false, "sharding/Cart/ids/7": true,
		"sharding/Cart/homes": false,
		"sharding/a/b/ids/":   true, "sharding/ids/7": false, "the end": true, "end": true, "ende": false, "": false,
	} {
		if got := p.Match(key); got != want {
			t.Errorf("%q: %v", key, got)
		}
	}
	for pattern, want := range map[string]bool{"one": false, "one/x": true, "one/*": true, "*": true, "*y": false} {
		if Match(pattern, "one/x") != want {
			t.Errorf("%q: want %v", pattern, want)
		}
	}
	if all := NewPatterns([]string{"*"}); !all.Match("x") || !all.Match("") {
		t.Error("* is not everything")
	}
	if ab := NewPatterns([]string{"ab*ba"}); ab.Match("aba") || !ab.Match("abba") {
		t.Error("prefix and suffix overlap")
	}
}
