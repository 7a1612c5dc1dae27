package thousand

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A small cluster plays all acts.
func TestSmall(t *testing.T) {
	set := Settings{Nodes: 20, Shards: 500, Restarts: -1, AtOnce: 2, Latency: 500 * time.Microsecond, Seed: 1}
	if err := Run(t.Context(), set); err != nil {
		t.Fatal(err)
	}
}
