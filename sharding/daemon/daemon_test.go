package daemon

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/ddatatest"
)

// Five workers over three nodes: each runs once; rescaled, the old ones stop before the new ones
// start; a node is killed, and its workers run elsewhere.
func TestProcess(t *testing.T) {
	ns := ddatatest.Start(t, "backend", "backend", "backend")
	w := newWatch()
	var ps []*Process
	for i, n := range ns {
		p, err := Start(n, Config{
			Name: "workers", Role: "backend", Count: 5, WorkersMax: 12, Run: w.run(i + 1),
			KeepAliveInterval: 200 * time.Millisecond, KeepAliveThrottle: time.Millisecond,
		})
		if err != nil {
			t.Fatal(err)
		}
		ps = append(ps, p)
	}
	ctx := within(t, 90*time.Second)
	all := func(revision uint64, count int, without int) func(map[Worker]int) bool {
		return func(now map[Worker]int) bool {
			for n := range count {
				if on := now[Worker{Number: n, Total: count, Revision: revision}]; on == 0 || on == without {
					return false
				}
			}
			return len(now) == count
		}
	}
	w.until(t, ctx, all(0, 5, 0))
	if err := ps[2].Rescale(ctx, 8); err != nil {
		t.Fatal(err)
	}
	w.until(t, ctx, all(1, 8, 0))
	if err := ps[0].Rescale(ctx, 3); err != nil {
		t.Fatal(err)
	}
	w.until(t, ctx, all(2, 3, 0))
	for _, g := range ps[1].region.ClusterStats(ctx).Regions {
		for _, s := range g.Shards {
			if s.Shard >= 3 {
				t.Errorf("%v hosts shard %d, which has no worker (A16)", g.Node, s.Shard)
			}
		}
	}
	if err := ps[1].Rescale(ctx, 3); err != nil {
		t.Error(err)
	}
	if s, ok, err := ps[1].State(ctx); s.Revision != 2 || s.Count != 3 || !s.Completed || !ok || err != nil {
		t.Errorf("the same number again: %+v %v", s, err)
	}
	if err := ps[1].Rescale(ctx, 13); !errors.Is(err, ErrConfig) {
		t.Errorf("beyond WorkersMax: %v", err)
	}
	oldest := 0
	for i, n := range ns {
		if n.View().Members[0].UID == n.UID() {
			oldest = i
		}
	}
	_ = ns[oldest].Close() // the coordinator is on it
	other := (oldest + 1) % 3
	if err := ns[other].Down(ns[oldest].UID()); err != nil {
		t.Fatal(err)
	}
	w.until(t, ctx, all(2, 3, oldest+1)) // not five, which is what Config says
	if err := ps[other].Rescale(ctx, 4); err != nil {
		t.Fatal(err)
	}
	w.until(t, ctx, all(3, 4, oldest+1))
	for _, s := range w.wrong {
		t.Error(s)
	}
}

func TestConfigFaults(t *testing.T) {
	err := Config{WorkersMax: -1, KeepAliveInterval: -1, RequestTimeout: -1}.Validate()
	if !errors.Is(err, ErrConfig) {
		t.Error(err)
	}
	for _, field := range []string{
		"Name", "Role", "Run", "WorkersMax", "Count", "KeepAliveInterval", "RequestTimeout",
	} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("no word of %s: %v", field, err)
		}
	}
}

// Each worker of a revision has a shard of its own, and its id says which worker it is.
func TestNames(t *testing.T) {
	const shards = 50
	for n := range 50 {
		w := Worker{Number: n, Total: 50, Revision: 3}
		id := entityID(w, shards)
		if got, ok := workerOf(id); got != w || !ok {
			t.Errorf("%s is %v", id, got)
		}
	}
	for _, bad := range []string{"", "1|2", "1|2|2|0", "1|2|-1|0", "x|2|1|0"} {
		if w, ok := workerOf(bad); ok {
			t.Errorf("%q is %v", bad, w)
		}
	}
}

func FuzzWorkerOf(f *testing.F) {
	f.Add("3|50|7|12")
	f.Fuzz(func(t *testing.T, id string) {
		if w, ok := workerOf(id); ok && (w.Number < 0 || w.Number >= w.Total) {
			t.Errorf("%q is %v", id, w)
		}
	})
}
