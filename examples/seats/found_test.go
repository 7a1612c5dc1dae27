package seats

import (
	"testing"

	"github.com/coterie-go/coterie/proptest/failing"
)

// TestSoldTwice fails on purpose: an office that does not look at tokens sells a seat twice.
func TestSoldTwice(t *testing.T) {
	failing.OnPurpose(t)
	shows(true).Check(t)
}

// The mistake is found, and told in few steps.
func TestTheMistakeIsFound(t *testing.T) { failing.Found(t, "TestSoldTwice", 6, "-rapid.checks=20000") }
