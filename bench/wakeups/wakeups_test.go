package wakeups

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/sharding/remind"
	"github.com/coterie-go/coterie/sharding/remind/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// All reminders come, from the replicated data and from another store, and each figure is there.
func TestRun(t *testing.T) {
	for _, store := range []remind.Store{nil, &memory.Store{}} {
		dir := t.TempDir()
		node := ddatatest.StartWith(t, 1, func(_ int, c *ddata.Config) { c.Roles, c.Dir = []string{"r"}, dir })[0]
		var f measure.Figures
		if err := Run(t.Context(), node, "r", store, 2000, 100*time.Millisecond, &f); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"heap_bytes_per_reminder", "late_p50_ms", "late_p99_ms", "piled_per_s"} {
			if !strings.Contains(fmt.Sprint(f), name) {
				t.Errorf("no %s in %v", name, f)
			}
		}
	}
}
