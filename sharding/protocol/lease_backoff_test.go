package protocol_test

import (
	"bytes"
	"strings"
	"testing"
)

// TestStoreAwayForAll: no region can use the store of leases, for an hour. The waiting shards stay
// where they are, except one that is moved now and then as a trial. Once a trial succeeds, all
// waiting shards go there.
func TestStoreAwayForAll(t *testing.T) {
	var out bytes.Buffer
	st := newStage(&out)
	play := func(lines ...string) string {
		t.Helper()
		out.Reset()
		for _, l := range lines {
			if err := st.command(strings.Fields(l)); err != nil {
				t.Fatalf("%s: %v", l, err)
			}
		}
		return out.String()
	}
	moves := func(minutes int) (n int) {
		for range 12 * minutes {
			n += strings.Count(play("tick 5s"), "stop-shard")
		}
		return n
	}
	awaiting := func() (n int) {
		for _, a := range st.all() {
			for _, sh := range a.shards { // order: only counted
				if phaseOf(sh) == "leasing" {
					n++
				}
			}
		}
		return n
	}
	play("cluster shards=8 leases", "view 1:up 2:up 3:up", "wanted 1 0", "wanted 1 1", "wanted 1 2", "fail lease",
		"wanted 2 3", "wanted 2 4")
	if n := moves(1); n > 4 {
		t.Errorf("%d moves in the first minute", n)
	}
	if n := moves(59); n == 0 || n > 17 { // after 1, 2, 4, 4 … minutes
		t.Errorf("%d moves in an hour", n)
	} else {
		t.Logf("%d moves in an hour", n)
	}
	if n := awaiting(); n != 2 {
		t.Errorf("%d shards wait", n)
	}

	for _, a := range st.all() { // node 1 can use it again
		if a.uid > 1 {
			play("fail lease " + a.uid.String())
		}
	}
	play("mend lease")
	moves(10)
	if n := awaiting(); n > 0 {
		t.Errorf("%d shards wait although one node can use the store", n)
	}
}
