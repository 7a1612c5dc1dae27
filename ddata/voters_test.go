package ddata_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata"
)

// TestVotersMax: the cap is part of the view, and a node that is set to another is refused with the
// setting's name.
func TestVotersMax(t *testing.T) {
	addrs := freeAddrs(t, 3)
	configs := make([]ddata.Config, 2)
	for i := range configs {
		configs[i] = config(addrs[i], addrs[:2], 2)
		configs[i].VotersMax = 1
	}
	nodes := startAll(t, configs...)
	if v := nodes[0].View(); len(v.Voters()) != 1 || len(v.Full()) != 2 {
		t.Errorf("%d of %d vote in %v", len(v.Voters()), len(v.Full()), v)
	}
	other := config(addrs[2], addrs[:2], 0)
	if _, err := ddata.Start(testContext(t), other); !errors.Is(err, ddata.ErrRefused) ||
		!strings.Contains(err.Error(), "VotersMax") {
		t.Errorf("a node without the cap: %v", err)
	}
}
