package replicator

import (
	"testing"
	"time"

	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/replicator/wire"
)

// R4: a donor that has forgotten what it pinned does not pin again for the same repair. The head of the
// first moment would go with the items of the second one.
func TestADonorPinsOnceForARepair(t *testing.T) {
	w := apart(t, settings.Config{DonorExpiry: 50 * time.Millisecond, RetryInterval: 100 * time.Millisecond}, 300, 6)
	a := w.nodes[0]
	lossy, pulls := true, 0
	w.drop = func(p packet) bool {
		switch p.msg.(type) {
		case *wire.Pull:
			if p.from == 2 {
				pulls++
			}
			return lossy && p.from == 1 // only the other one repairs itself
		case *wire.Items:
			return lossy
		}
		return false
	}
	w.mendAll()
	for range 1000 {
		if w.advance(10 * time.Millisecond); pulls > 0 {
			break
		}
	}
	a.put("s", "later", quorum.Local)
	w.advance(a.m.site.Cfg.DonorExpiry)
	if lossy = false; pulls != 1 || a.m.donating.donors.Len() != 0 {
		t.Fatalf("%d questions, %d donations", pulls, a.m.donating.donors.Len())
	}
	w.advance(20 * time.Second)
	w.same()
	if st := w.repairs(); st.Malformed+st.RepairAlarms > 0 || st.RepairsBroken == 0 || st.Repairs == 0 {
		t.Errorf("%+v", st)
	}
}

// A question that comes twice is answered twice. One that comes after the end of its repair is refused.
func TestPullsThatComeAgain(t *testing.T) {
	w := apart(t, settings.Config{}, 300, 6)
	w.mendAll()
	a, content := w.nodes[0], w.nodes[1].m.Snapshot(keyspace.Volatile).Clock()
	answers := func(session uint64) (heads, refusals int) {
		w.net = nil
		a.step(&Receive{2, &wire.Pull{Epoch: 1, Session: session, Content: content}})
		for _, p := range w.net {
			switch p.msg.(type) {
			case *wire.Head:
				heads++
			case *wire.Refuse:
				refusals++
			}
		}
		return heads, refusals
	}
	for i, c := range []struct {
		session uint64
		done    bool
		heads   int
	}{{9, false, 1}, {9, true, 1}, {9, false, 0}, {11, false, 1}} {
		if heads, refusals := answers(c.session); heads != c.heads || refusals != 1-c.heads {
			t.Errorf("%d: %d heads, %d refusals", i, heads, refusals)
		}
		if c.done {
			a.step(&Receive{2, &wire.Done{Epoch: 1, Session: c.session}})
		}
	}
}
