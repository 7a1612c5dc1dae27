package bootstrap

import (
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// TestOneFounderHasWaited: of the founders that know the newest view, one that has waited is enough,
// or one that locks itself.
func TestOneFounderHasWaited(t *testing.T) {
	knows := func(e view.Epoch, waits bool) Probe {
		return Probe{Knows: []Known{{Cluster: 7, Epoch: e}}, Waits: waits}
	}
	for _, c := range []struct {
		what   string
		of     []Probe
		choice []view.UID
		waits  bool
	}{
		{"nothing is known", []Probe{{Waits: true}, {Waits: true}}, nil, false},
		{"none has", []Probe{knows(5, true), knows(5, true)}, nil, true},
		{"the first has", []Probe{knows(5, false), knows(5, true)}, nil, false},
		{"the second has", []Probe{knows(5, true), knows(5, false)}, nil, false},
		{"one of an older view has", []Probe{knows(5, true), knows(4, false)}, nil, true},
		{"one locks itself", []Probe{knows(5, true), knows(5, true)}, []view.UID{3}, false},
	} {
		cfg := Config{Self: view.Member{UID: 1, Addr: "n1"}, Expect: 3, TTL: time.Second}
		founders := candidates{cfg: &cfg, memory: &Memory{}}
		for i, p := range c.of {
			p.Self, p.Expect = view.Member{UID: view.UID(i + 2), Addr: string(rune('a' + i))}, 3
			founders.hear(time.Unix(1000, 0), p)
		}
		if got := founders.unwaited(c.choice); (got != "") != c.waits {
			t.Errorf("%s: %q", c.what, got)
		}
	}
}
