package floods

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/ddata/ddatatest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Both ways are measured while users write.
func TestBothWays(t *testing.T) {
	nodes := ddatatest.Start(t, "r", "r", "r")
	poured, calm := pour(t.Context(), nodes, flood{callers: 4, values: 2, bytes: 1 << 10})
	var f measure.Figures
	if err := bothWays(&f, nodes[0].Host(), 50*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if err := calm(); err != nil || poured.Load() == 0 {
		t.Errorf("%d writes of users: %v", poured.Load(), err)
	}
	for _, name := range []string{"user_p50_us", "user_p99_us", "reserved_p50_us", "reserved_p99_us", "p99_ratio"} {
		if !strings.Contains(fmt.Sprint(f), name) {
			t.Errorf("no %s in %v", name, f)
		}
	}
}

// A shard is served while a type starts.
func TestFirstShard(t *testing.T) {
	if took, err := firstShard(t.Context(), ddatatest.Start(t, "r"), "Greeted"); err != nil || took <= 0 {
		t.Errorf("%v: %v", took, err)
	}
}
