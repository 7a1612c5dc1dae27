package discovery_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/ddata/discovery"
	"github.com/coterie-go/coterie/ddata/discovery/dnstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ask(t *testing.T, s discovery.Source) discovery.Answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	return discovery.Ask(ctx, s)
}

func TestRecordsBecomeAddresses(t *testing.T) {
	server := dnstest.Start(t)
	server.Set(t, "shop.test.", "A 10.0.0.2", "A 10.0.0.1", "AAAA fd00::1")
	server.Set(t, "_node._tcp.shop.test.", "SRV 0 0 7946 a.shop.test.", "SRV 0 0 7947 b.shop.test.", "SRV 0 0 1 .")
	r := server.Resolver()
	for _, c := range []struct {
		source discovery.DNS
		want   []string
	}{
		{discovery.DNS{Host: "shop.test.", Port: 7946, Resolver: r},
			[]string{"10.0.0.1:7946", "10.0.0.2:7946", "[fd00::1]:7946"}},
		{discovery.DNS{Host: "shop.test.", Service: "node", Proto: "tcp", Resolver: r},
			[]string{"a.shop.test:7946", "b.shop.test:7947"}},
		{discovery.DNS{Host: "_node._tcp.shop.test.", Resolver: r}, []string{"a.shop.test:7946", "b.shop.test:7947"}},
	} {
		if err := c.source.Validate(); err != nil {
			t.Error(err)
		}
		if a := ask(t, c.source); a.Err != nil || !slices.Equal(a.Addrs, c.want) {
			t.Errorf("%v: %v, want %v", c.source, a, c.want)
		}
	}
}

// What does not fit a packet comes over TCP; beyond the bound everybody takes the same.
func TestLongAnswers(t *testing.T) {
	server := dnstest.Start(t)
	var records []string
	for i := range 300 {
		records = append(records, fmt.Sprintf("A 10.1.%d.%d", i>>8, i&255))
	}
	source := discovery.DNS{Host: "shop.test.", Port: 7946, Resolver: server.Resolver()}
	server.Set(t, "shop.test.", records[:200]...)
	if a := ask(t, source); a.Err != nil || len(a.Addrs) != 200 {
		t.Errorf("%d addresses, %v", len(a.Addrs), a.Err)
	}
	server.Set(t, "shop.test.", records...)
	first := ask(t, source)
	slices.Reverse(records)
	server.Set(t, "shop.test.", records...)
	a := ask(t, source)
	if a.Err == nil || !strings.Contains(a.Err.Error(), "44 addresses are left out: at most 256") {
		t.Errorf("it does not say that some are left out: %v", a.Err)
	}
	if len(a.Addrs) != discovery.AddrsMax || !slices.Equal(a.Addrs, first.Addrs) {
		t.Errorf("%d addresses; the same ones: %v", len(a.Addrs), slices.Equal(a.Addrs, first.Addrs))
	}
}

// A name that is not there yet and a server that fails are told apart: the first is what a service
// looks like before its first pod.
func TestNobodyIsNamed(t *testing.T) {
	server := dnstest.Start(t)
	r := server.Resolver()
	server.Set(t, "text.test.", "TXT hello")
	for _, s := range []discovery.DNS{
		{Host: "none.test.", Port: 1, Resolver: r}, {Host: "text.test.", Port: 1, Resolver: r},
		{Host: "none.test.", Resolver: r},
	} {
		a := ask(t, s)
		if !errors.Is(a.Err, discovery.ErrNoAddress) || !strings.Contains(a.Err.Error(), s.Host) ||
			!strings.Contains(a.Err.Error(), "publishNotReadyAddresses") {
			t.Errorf("%v: %v", s, a)
		}
	}
	server.Fail(dns.RcodeServerFailure)
	if a := ask(t, discovery.DNS{Host: "none.test.", Port: 1, Resolver: r}); a.Err == nil ||
		errors.Is(a.Err, discovery.ErrNoAddress) {
		t.Errorf("a failing server: %v", a)
	}
}

func TestUnion(t *testing.T) {
	bad := errors.New("no")
	fails := discovery.Func(func(context.Context) ([]string, error) { return nil, bad })
	a := ask(t, discovery.Union{discovery.Static{"b:1", "a:1"}, fails, discovery.Static{"a:1"}})
	if !errors.Is(a.Err, bad) || !slices.Equal(a.Addrs, []string{"a:1", "b:1"}) {
		t.Errorf("got %v", a)
	}
	if a := ask(t, discovery.Union{discovery.Static{}, discovery.Static{"a:1"}}); a.Err != nil ||
		!slices.Equal(a.Addrs, []string{"a:1"}) {
		t.Errorf("no address in one of two: %v", a)
	}
	if a := ask(t, discovery.Union{discovery.Static{}, discovery.Static{}}); !errors.Is(a.Err,
		discovery.ErrNoAddress) || len(a.Addrs) > 0 {
		t.Errorf("no address in both: %v", a)
	}
	if a := ask(t, discovery.Union{discovery.Static{}, fails}); !errors.Is(a.Err, bad) {
		t.Errorf("got %v", a)
	}
	if a := ask(t, discovery.Union{}); !errors.Is(a.Err, discovery.ErrNoAddress) {
		t.Errorf("got %v", a)
	}
}

func TestNoAddressIsLeftOut(t *testing.T) {
	a := ask(t, discovery.Static{
		"a:1", "a", "a:0", ":1", "a:x", "a:70000", "[::1]:2", "a:1", "\xff:1", strings.Repeat("a", 300) + ":1",
	})
	if !slices.Equal(a.Addrs, []string{"[::1]:2", "a:1"}) || a.Err == nil ||
		!strings.Contains(a.Err.Error(), "7 of 10 names are left out") {
		t.Errorf("got %+v", a)
	}
	if a := ask(t, discovery.Static{"a"}); len(a.Addrs) > 0 || a.Err == nil ||
		!strings.Contains(a.Err.Error(), "1 of 1") {
		t.Errorf("got %+v", a)
	}
}

func TestValidateNamesTheField(t *testing.T) {
	for want, s := range map[string]discovery.Source{
		"DNS.Host":    discovery.DNS{Port: 1},
		"DNS.Proto":   discovery.DNS{Host: "a", Service: "x"},
		"DNS.Service": discovery.DNS{Host: "a", Port: 1, Service: "x", Proto: "tcp"},
		`"here"`:      discovery.Union{discovery.Static{"a:1", "here"}},
	} {
		if err := discovery.Validate(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", discovery.Name(s), err, want)
		}
	}
	if err := discovery.Validate(discovery.Func(nil)); err != nil {
		t.Error(err)
	}
}
