package ddata_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/discovery"
	"github.com/coterie-go/coterie/ddata/discovery/dnstest"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/events/eventstest"
	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// pods are nodes at addresses of their own, all at one port, as in a cluster of Kubernetes.
type pods struct {
	server *dnstest.Server
	port   uint16
}

func newPods(t *testing.T, n int) *pods {
	t.Helper()
	p := &pods{server: dnstest.Start(t)}
	for range 100 {
		_, port, err := net.SplitHostPort(freeAddrs(t, 1)[0])
		if err != nil {
			t.Fatal(err)
		}
		taken := false
		for i := range n {
			l, err := net.Listen("tcp", net.JoinHostPort(podIP(i), port))
			if taken = taken || err != nil; err == nil {
				defer l.Close()
			}
		}
		if x, err := strconv.ParseUint(port, 10, 16); err == nil && !taken {
			p.port = uint16(x)
			return p
		}
	}
	t.Fatal("no port is free at all addresses")
	return nil
}

func podIP(i int) string { return "127.0.0." + strconv.Itoa(i+1) }

// list makes the service name the first so many pods.
func (p *pods) list(t *testing.T, n int) {
	t.Helper()
	var records []string
	for i := range n {
		records = append(records, "A "+podIP(i))
	}
	p.server.Set(t, "shop.test.", records...)
}

func (p *pods) config(i, expect int) ddata.Config {
	c := config(net.JoinHostPort(podIP(i), strconv.Itoa(int(p.port))), nil, expect)
	c.Discovery = discovery.DNS{Host: "shop.test.", Port: p.port, Resolver: p.server.Resolver()}
	return c
}

// Three nodes know nothing but a name, which does not exist yet, then names some of them, then all,
// themselves included. A fourth one finds them the same way.
func TestNodesFindEachOtherByName(t *testing.T) {
	service := newPods(t, 4)
	ctx := testContext(t)
	var log lockedBuffer
	started := make(chan error, 4)
	nodes := make([]*ddata.Node, 4)
	waiting := make(chan string, 100)
	start := func(i, expect int) {
		c := service.config(i, expect)
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		c.OnEvent = eventstest.On(func(e events.Waiting) {
			select {
			case waiting <- e.Reason:
			default:
			}
		})
		go func() {
			var err error
			nodes[i], err = ddata.Start(ctx, c)
			started <- err
		}()
	}
	t.Cleanup(func() {
		for _, n := range nodes {
			if n != nil {
				_ = n.Close()
			}
		}
	})
	hear := func(want string) {
		t.Helper()
		for {
			select {
			case got := <-waiting:
				if strings.Contains(got, want) {
					return
				}
			case err := <-started:
				t.Fatalf("a node came up, or gave up (%v), before %q was said", err, want)
			case <-ctx.Done():
				t.Fatalf("no event says %q\n%s", want, log.String())
			}
		}
	}
	for i := range 3 {
		start(i, 3)
	}
	hear("discovery does not answer")
	service.list(t, 2)
	hear("discovery names 2 of the 3 nodes")
	service.list(t, 3)
	for range 3 {
		if err := <-started; err != nil {
			t.Fatalf("%v\n%s", err, log.String())
		}
	}
	if !strings.Contains(log.String(), "the name has no such records") || !strings.Contains(log.String(), podIP(2)) {
		t.Errorf("the log does not tell what discovery said:\n%s", log.String())
	}
	service.list(t, 4)
	start(3, 3)
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		until(t, n, "one cluster", func(v *view.View) bool {
			return len(v.Members) == 4 && v.Cluster == nodes[0].View().Cluster
		})
	}
	if nodes[0].View().Founded {
		t.Error("the fourth node founded")
	}
}

// Discovery asks a name while a member is missing, and leaves it alone while all are there. A
// missing node stays a member here: nothing removes it.
func TestDiscoveryRests(t *testing.T) {
	const members = 3
	service := newPods(t, members)
	service.list(t, members)
	var configs []ddata.Config
	for i := range members {
		c := service.config(i, members)
		c.Downing = downing.Manual{}
		configs = append(configs, c)
	}
	server, nodes := service.server, startAll(t, configs...)
	for _, n := range nodes {
		until(t, n, "all", func(v *view.View) bool { return len(v.Members) == members })
	}
	quiet := func() bool { // no question for longer than any pause
		before := server.Asked()
		select {
		case <-time.After(1500 * time.Millisecond):
		case <-t.Context().Done():
		}
		return server.Asked() == before
	}
	for tries := 1; !quiet(); tries++ { // a question may have been under way when the links came up
		if tries == 3 {
			t.Fatal("discovery is asked while no node is missing")
		}
	}
	before := server.Asked()
	_ = nodes[1].Close()
	for ctx := testContext(t); server.Asked() == before; {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			t.Fatal("discovery is not asked while a member is missing")
		}
	}
}

// A node whose own name does not resolve yet starts all the same, and says so. With the addresses
// of A records it is found under another address than the one that it advertises, and knows itself
// among them.
func TestAdvertisedNameAndDiscoveredAddress(t *testing.T) {
	server := dnstest.Start(t)
	_, port, err := net.SplitHostPort(freeAddrs(t, 1)[0])
	if err != nil {
		t.Fatal(err)
	}
	server.Set(t, "shop.test.", "A 127.0.0.1")
	p, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	c := config("127.0.0.1:"+port, nil, 1)
	c.Advertise = "pod-0.nowhere.invalid:" + port
	c.Discovery = discovery.DNS{Host: "shop.test.", Port: uint16(p), Resolver: server.Resolver()}
	var log lockedBuffer
	c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	w := watch(&c)
	n := startAll(t, c)[0]
	has(t, w, func(e events.Discovered) bool {
		return e.Err == nil && e.Source == discovery.Name(c.Discovery) && slices.Equal(e.Addrs, []string{c.Bind})
	})
	has(t, w, func(e events.Gossiped) bool { return e.Warn && e.Addr == c.Advertise && e.Err != nil })
	if n.Addr() != c.Advertise {
		t.Errorf("it is known at %s", n.Addr())
	}
	if !strings.Contains(log.String(), "the own address does not resolve") {
		t.Errorf("nothing is said of the name:\n%s", log.String())
	}
}

// Two are a cluster, and the source of their zone fails: two of the other zone, enough to found
// one, wait until it can be asked, and join.
func TestAFailingZoneHidesNoCluster(t *testing.T) {
	addrs := freeAddrs(t, 4)
	var here, there discovery.Static = addrs[:2], addrs[2:]
	config := func(i int, s discovery.Source) ddata.Config {
		c := config(addrs[i], nil, 2)
		c.Discovery = s
		return c
	}
	old := startAll(t, config(0, here), config(1, here))
	var down atomic.Bool
	down.Store(true)
	zone := discovery.Func(func(ctx context.Context) ([]string, error) {
		if down.Load() {
			return nil, errors.New("zone 1: server misbehaving")
		}
		return here.Discover(ctx)
	})
	c, d := config(2, discovery.Union{zone, there}), config(3, discovery.Union{zone, there})
	said := make(chan string, 1)
	c.OnEvent = eventstest.On(func(e events.Waiting) {
		if strings.Contains(e.Reason, "may not name all: zone 1: server misbehaving") &&
			down.CompareAndSwap(true, false) {
			said <- e.Reason
		}
	})
	// they come up only when the zone answers, which it does once it was said that they wait
	for _, n := range startAll(t, c, d) {
		if n.View().Cluster != old[0].View().Cluster {
			t.Error("there are two clusters")
		}
	}
	select {
	case <-said:
	default:
		t.Error("no event says why the node waits")
	}
}

func TestBadDiscoveryIsRefused(t *testing.T) {
	c := config("127.0.0.1:0", nil, 0)
	c.Discovery = discovery.DNS{}
	if _, err := ddata.Start(context.Background(), c); err == nil ||
		!strings.Contains(err.Error(), "Config.Discovery.Host: ") || strings.Contains(err.Error(), "Config.Seeds") {
		t.Errorf("got %v", err)
	}
}

// lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String is what was written so far.
func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
