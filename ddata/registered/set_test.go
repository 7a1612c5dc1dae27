package registered

import (
	"slices"
	"sync"
	"testing"
)

func TestSet(t *testing.T) {
	var (
		mu sync.Mutex
		s  Set[string]
	)
	add := func(v string) func() {
		mu.Lock()
		defer mu.Unlock()
		return s.Add(&mu, v)
	}
	want := func(all ...string) {
		t.Helper()
		if got := s.All(); !slices.Equal(got, all) || s.Len() != len(all) {
			t.Errorf("%q of %d, want %q", got, s.Len(), all)
		}
	}
	want()
	one, two := add("one"), add("two")
	add("three")
	want("one", "two", "three")
	two()
	two() // once more changes nothing
	want("one", "three")
	add("two")
	one()
	want("three", "two")
}
