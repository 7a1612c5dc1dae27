package protocol_test

import (
	"bytes"
	"testing"

	"github.com/coterie-go/coterie/proptest/golden"
)

// TestScripts plays the golden scripts in testdata; see stage.command for what they can say.
func TestScripts(t *testing.T) {
	golden.Run(t, "testdata/*.txt", func(_ *testing.T,
		out *bytes.Buffer) golden.Player {
		return newStage(out).command
	})
}
