package transport

import "testing"

// What an operator can mend is a warning, once for each address and reason; what a restart explains is none.
func TestRefusalsAreSaidOnce(t *testing.T) {
	var loud []Refusal
	m, err := Listen(t.Context(), Config{Cluster: "c", Self: 2, Bind: "127.0.0.1:0", OnRefused: func(r Refusal) {
		if r.Loud {
			loud = append(loud, r)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for i := range 5 {
		for _, r := range []Reason{RefusedCluster, RefusedStream, RefusedIncarnation, RefusedSelf, RefusedGeneration} {
			m.warned.Store(0) // as if a second had passed
			m.onRefused(Refusal{Inbound: true, Peer: NodeID(i + 10), Addr: "127.0.0.1:1", Cause: ErrRefused{Reason: r}})
		}
	}
	if len(loud) != 1 {
		t.Errorf("%d warnings: %v", len(loud), loud)
	}
	for i := range 3 * refusalsSaidMax {
		m.onRefused(Refusal{Addr: string(rune('a' + i)), Cause: ErrRefused{Reason: RefusedCluster}})
	}
	if n := len(m.refusalsSaid); n > refusalsSaidMax {
		t.Errorf("%d refusals are remembered", n)
	}
}

func TestNodesHaveShortNames(t *testing.T) {
	if s := NodeID(0x0123456789abcdef).String(); s != "01234567" {
		t.Error(s)
	}
}
