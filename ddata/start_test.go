package ddata_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/roles"
)

func TestBadConfigNamesEveryField(t *testing.T) {
	_, err := ddata.Start(t.Context(), ddata.Config{
		Bind: "nowhere", Advertise: "x",
		Seeds: []string{""}, Roles: []string{"a", "a"}, DurableKeys: []string{"x"}, BootstrapExpect: -1,
		MinMembers: -1, PerRole: map[string]roles.Config{"a": {MinMembers: -1}},
		AppVersion: strings.Repeat("v", 100),
	})
	for _, field := range []string{"Name", "Bind", "Advertise", "Seeds", "Roles", "Dir", "BootstrapExpect",
		"MinMembers", "PerRole[a].MinMembers",
		"AppVersion"} {
		if err == nil || !strings.Contains(err.Error(), "Config."+field) {
			t.Errorf("the error does not name %s: %v", field, err)
		}
	}
}

// A node that listens on all interfaces has to say at which address others find it.
func TestAnAddressThatNobodyCanDialIsRefused(t *testing.T) {
	for _, all := range []string{"0.0.0.0:7946", "[::]:7946", ":7946", "0.0.0.0:0"} {
		for _, c := range []ddata.Config{config(all, nil, 1), config("127.0.0.1:0", nil, 1)} {
			if c.Bind != all {
				c.Advertise = all
			}
			if _, err := ddata.Start(t.Context(), c); err == nil ||
				!strings.Contains(err.Error(), "Config.Advertise: ") ||
				!strings.Contains(err.Error(), strconv.Quote(all)) {
				t.Errorf("Bind %q, Advertise %q: %v", c.Bind, c.Advertise, err)
			}
		}
	}
	c := config("0.0.0.0:0", nil, 1)
	c.Advertise = "127.0.0.1:0"
	if n := startAll(t, c)[0]; !strings.HasPrefix(n.Addr(), "127.0.0.1:") || strings.HasSuffix(n.Addr(), ":0") {
		t.Errorf("it is known at %s", n.Addr())
	}
}

func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = ddata.Start(t.Context(), config(l.Addr().String(), nil, 1))
	if err == nil || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Fatalf("the error does not name the address: %v", err)
	}
}

func TestWrongClusterNameIsRefusedWithTheReason(t *testing.T) {
	n := startCluster(t, 1, nil)[0]
	c := config(freeAddrs(t, 1)[0], []string{n.Addr()}, 0)
	c.Name = "other"
	_, err := ddata.Start(testContext(t), c)
	if !errors.Is(err, ddata.ErrRefused) || !strings.Contains(err.Error(), `"test"`) ||
		!strings.Contains(err.Error(), `"other"`) {
		t.Fatalf("want a refusal that names both clusters, got %v", err)
	}
}

func TestDirectoryFaults(t *testing.T) {
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "letter.txt"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	inTheWay := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(inTheWay, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	used := t.TempDir()
	c := config(freeAddrs(t, 1)[0], nil, 1)
	c.Dir = used
	startAll(t, c)
	for name, dir := range map[string]string{"foreign": foreign, "a file in its place": inTheWay, "in use": used} {
		c := config(freeAddrs(t, 1)[0], nil, 1)
		c.Dir = dir
		if _, err := ddata.Start(t.Context(), c); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: the error does not name the directory: %v", name, err)
		}
	}
}

func TestStartWithACancelledContextReturnsAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ddata.Start(ctx, config(freeAddrs(t, 1)[0], nil, 1)); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
}

func TestDifferentSettingsAreRefusedByName(t *testing.T) {
	n := startCluster(t, 1, nil)[0]
	c := config(freeAddrs(t, 1)[0], []string{n.Addr()}, 0)
	c.Dir = t.TempDir()
	_, err := ddata.Start(testContext(t), c)
	if !errors.Is(err, ddata.ErrRefused) || !strings.Contains(err.Error(), "Dir") ||
		!strings.Contains(err.Error(), "DurableKeys") {
		t.Fatalf("want a refusal that names the settings, got %v", err)
	}
}

// lateMeter is a Meter whose Read waits, and that counts the reads that were not cancelled.
type lateMeter struct {
	notedMeter
	wait func()
	read atomic.Int32
}

// Read implements events.Meter.
func (m *lateMeter) Read(func(func(*events.Metric, float64, ...string))) func() {
	m.wait()
	m.read.Add(1)
	return func() { m.read.Add(-1) }
}

// The peers may refuse a node that is still being built. What is built after that is released too.
func TestRefusedWhileItIsBuilt(t *testing.T) {
	n := startCluster(t, 1, nil)[0]
	c := config(freeAddrs(t, 1)[0], []string{n.Addr()}, 0)
	c.Name = "other"
	w := watch(&c)
	meter := &lateMeter{
		notedMeter: notedMeter{of: map[string]*observations{}},
		wait:       func() { has(t, w, anyOf[events.NodeEnded]) },
	}
	c.Meter = meter
	if _, err := ddata.Start(testContext(t), c); !errors.Is(err, ddata.ErrRefused) {
		t.Errorf("want a refusal, got %v", err)
	}
	if left := meter.read.Load(); left != 0 {
		t.Errorf("%d reads of the meter were not cancelled", left)
	}
}
