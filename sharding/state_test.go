package sharding

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/host/hosttest"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// TestQuorums: what is asked of the replicated state, and for how long, is what
// EntityType.Quorums says, for the coordinator and for remembered ids.
func TestQuorums(t *testing.T) {
	for name, c := range map[string]struct {
		s           Quorums
		write, read hosttest.Asked
	}{
		"defaults": {
			Quorums{}, hosttest.Asked{Level: quorum.MajorityPlus(0, 0), Timeout: 5 * time.Second},
			hosttest.Asked{Level: quorum.MajorityPlus(0, 0), Timeout: 2 * time.Second},
		},
		"the reference's": {
			Quorums{WritePlus: 3, ReadPlus: 5, AtLeast: 5, WriteTimeout: time.Minute, ReadTimeout: time.Hour},
			hosttest.Asked{Level: quorum.MajorityPlus(3, 5), Timeout: time.Minute},
			hosttest.Asked{Level: quorum.MajorityPlus(5, 5), Timeout: time.Hour},
		},
		"all": {
			Quorums{WritePlus: All, ReadPlus: All}, hosttest.Asked{Level: quorum.All, Timeout: 5 * time.Second},
			hosttest.Asked{Level: quorum.All, Timeout: 2 * time.Second},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				typ := cartType(&cartLog{})
				typ.Quorums, typ.Remember.Entities = c.s, true
				g := start(w.join("backend"), typ)
				w.install()
				if _, err := g.StartEntity(within(t, time.Minute), "a"); err != nil {
					t.Fatal(err)
				}
				asked := w.store.Asked()
				// of reads: homes, regions, the shards with ids, and those of one shard; of writes:
				// a region, a home, the shard and the id
				if len(asked) != 2 || asked[c.read] < 4 || asked[c.write] < 4 {
					t.Errorf("asked %v, want %v and %v", asked, c.write, c.read)
				}
			})
		})
	}
}

// TestSlowReadsAreGivenMoreTime: what takes longer to read than ReadTimeout, such as the ids of
// very many entities, is read in the end.
func TestSlowReadsAreGivenMoreTime(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		typ := cartType(&cartLog{})
		typ.Remember.Entities = true
		w.store.ReadsTake(7 * Quorums{}.WithDefaults().ReadTimeout)
		g := start(w.join("backend"), typ)
		w.install()
		if _, err := g.StartEntity(within(t, 5*time.Minute), "a"); err != nil {
			t.Fatal(err)
		}
		asked := w.store.Asked()
		// for each of the four
		for _, limit := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second} {
			if n := asked[hosttest.Asked{Level: quorum.MajorityPlus(0, 0), Timeout: limit}]; n != 4 {
				t.Errorf("%d reads with %v: %v", n, limit, asked)
			}
		}
	})
}

// TestSlowWritesAreGivenMoreTime: so is what takes longer to write than WriteTimeout, such as ids
// behind very many others.
func TestSlowWritesAreGivenMoreTime(t *testing.T) {
	settings := Quorums{WriteTimeout: time.Second}.WithDefaults()
	for failed, want := range []time.Duration{1, 2, 4, 8, 16, 32, 32} {
		if got := settings.WriteLimit(uint(failed)); got != want*time.Second {
			t.Errorf("after %d failures a write may take %v, want %v", failed, got, want*time.Second)
		}
	}
	inBubble(t, func(t *testing.T, w *world) {
		typ := cartType(&cartLog{})
		typ.Remember.Entities = true
		w.store.WritesTake(3*settings.WriteTimeout, func(key string) bool { return strings.Contains(key, "/ids/") })
		typ.Quorums.WriteTimeout = settings.WriteTimeout
		g := start(w.join("backend"), typ)
		w.install()
		if _, err := g.StartEntity(within(t, time.Minute), "a"); err != nil {
			t.Fatal(err)
		}
	})
}

// TestQuorumsFaults: every fault is named, together.
func TestQuorumsFaults(t *testing.T) {
	typ := cartType(&cartLog{})
	typ.Quorums = Quorums{WritePlus: -2, ReadPlus: -3, AtLeast: -1, WriteTimeout: -1, ReadTimeout: -1}
	err := typ.Validate()
	for _, want := range []string{
		"Quorums.WritePlus: is -2", "ReadPlus: is -3", "AtLeast: is -1", "WriteTimeout: is -1ns",
		"ReadTimeout: is -1ns",
	} {
		if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}
