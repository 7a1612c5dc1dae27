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
