package membership

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
)

func TestPresetsAreValid(t *testing.T) {
	for name, c := range map[string]Config{"LAN": LAN(), "Local": Local(), "zero": {}} {
		c.UID, c.Addr = 1, "a"
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestValidateReportsAllFaults(t *testing.T) {
	c := Config{
		Roles: []string{"x", "x"}, BootstrapExpect: -1, Name: "\xff",
		Compatibility: []bootstrap.Setting{{Name: "a"}, {Name: "a"}}, Timing: Timing{
			HeartbeatInterval: time.Second, UnreachableAfter: time.Second, StableAfter: time.Second,
			LeaseDuration: 3 * time.Second, SelfDownAfter: 4 * time.Second,
		},
	}
	_, err := New(c, rand.New(rand.NewPCG(1, 1)), nil)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"UID: is zero", "Addr: is empty", "given twice", "BootstrapExpect", "two heartbeats", "three heartbeats",
		"StableAfter", "SelfDownAfter", "Name", "Compatibility",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in:\n%v", want, err)
		}
	}
}
