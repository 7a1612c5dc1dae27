package simtest_test

import "testing"

// TestExamples runs what the examples show.
func TestExamples(t *testing.T) {
	t.Run("entity", pageTest.Check)
	t.Run("singleton", billing().Check)
	t.Run("data", likes.Check)
}
