package proptest_test

import "testing"

// TestHighest runs what ExampleLaws shows.
func TestHighest(t *testing.T) { highestLaws.Check(t) }
