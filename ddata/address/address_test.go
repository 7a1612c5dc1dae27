package address_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata/address"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Each use of an address has its check.
func TestChecks(t *testing.T) {
	for _, x := range []struct {
		addr                     string
		listen, advertised, peer bool
	}{
		{"127.0.0.1:7946", true, true, true},
		{"[::1]:7946", true, true, true},
		{"[fe80::1%eth0]:7946", true, true, true},
		{"pod-0.example:7946", true, true, true},
		{"host:65535", true, true, true},
		{"host:0", true, true, false},
		{":7946", true, false, false},
		{":0", true, false, false},
		{"0.0.0.0:7946", true, false, false},
		{"[::]:7946", true, false, false},
		{"host:65536", false, false, false},
		{"host:-1", false, false, false},
		{"host:http", false, false, false},
		{"host:", false, false, false},
		{"host", false, false, false},
		{"", false, false, false},
		{"::1:7946", false, false, false},
		{"a:b:1", false, false, false},
		{"\xff:1", false, false, false},
		{strings.Repeat("a", address.Max-2) + ":1", true, true, true},
		{strings.Repeat("a", address.Max-1) + ":1", false, false, false},
	} {
		for _, use := range []struct {
			name  string
			check func(string) error
			want  bool
		}{
			{"listen", address.CheckListen, x.listen}, {"advertised", address.CheckAdvertised, x.advertised},
			{"peer", address.CheckPeer, x.peer},
		} {
			err := use.check(x.addr)
			if (err == nil) != use.want || err != nil && !errors.Is(err, address.ErrBad) {
				t.Errorf("%s %q: %v", use.name, x.addr, err)
			}
		}
	}
}

// An error names the address and says what is wanted.
func TestErrorsNameTheAddress(t *testing.T) {
	for _, err := range []error{
		address.CheckListen("nowhere"), address.CheckListen("x:http"), address.CheckAdvertised("0.0.0.0:1"),
		address.CheckPeer("x:0"),
	} {
		if err == nil || !strings.Contains(err.Error(), `"`) {
			t.Errorf("%v", err)
		}
	}
}

// The membership takes every address that passes.
func TestBoundIsTheMembershipsOwn(t *testing.T) {
	if address.Max != view.AddrMax {
		t.Errorf("%d bytes, the membership takes %d", address.Max, view.AddrMax)
	}
}
