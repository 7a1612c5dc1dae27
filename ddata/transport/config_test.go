package transport

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/transport/tcp"
)

func TestValidateReportsAllFaults(t *testing.T) {
	c := Config{
		Bind: "nowhere", Advertise: "host:port", FrameMax: 1 << 30, DataStripes: 1000, DataQueueMax: -1, Linger: -1,
		BackoffMin: 2 * time.Second, BackoffMax: time.Second, HelloTimeout: time.Second, DrainTimeout: time.Minute,
	}
	err := c.Validate()
	if !errors.Is(err, ErrBadAddr) {
		t.Errorf("no ErrBadAddr in %v", err)
	}
	for _, want := range []string{
		"Cluster", "Self", "Bind", "Advertise", "FrameMax", "DataStripes", "DataQueueMax", "Linger",
		"BackoffMax", "HelloTimeout",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not reported", want)
		}
	}
	good := Config{Cluster: "c", Self: 1, Bind: "127.0.0.1:0"}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
}

func TestListenErrors(t *testing.T) {
	first, err := Listen(t.Context(), Config{Cluster: "c", Self: 1, Bind: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	_, err = Listen(t.Context(), Config{Cluster: "c", Self: 2, Bind: first.Addr()})
	if !errors.Is(err, ErrAddrInUse) || !strings.Contains(err.Error(), first.Addr()) {
		t.Errorf("a taken port: %v", err)
	}
	_, err = Listen(t.Context(), Config{Cluster: "c", Self: 2, Bind: "192.0.2.1:0"})
	if !errors.Is(err, ErrBadAddr) {
		t.Errorf("an address of another machine: %v", err)
	}
	for _, all := range []string{"0.0.0.0:0", "[::]:0", ":0"} {
		_, err = Listen(t.Context(), Config{Cluster: "c", Self: 2, Bind: all})
		if err == nil || !strings.Contains(err.Error(), strconv.Quote(all)) {
			t.Errorf("the error does not name the address as it was given: %v", err)
		}
		if !errors.Is(err, ErrBadAddr) || !strings.Contains(err.Error(), "set Config.Advertise") {
			t.Errorf("no address to dial: %v", err)
		}
		_, err = Listen(t.Context(), Config{Cluster: "c", Self: 2, Bind: "127.0.0.1:0", Advertise: all})
		if !errors.Is(err, ErrBadAddr) || !strings.Contains(err.Error(), "Advertise: ") ||
			!strings.Contains(err.Error(), strconv.Quote(all)) {
			t.Errorf("an address that means nothing to others is advertised: %v", err)
		}
	}
	m, err := Listen(t.Context(), Config{Cluster: "c", Self: 2, Bind: "0.0.0.0:0", Advertise: "localhost:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if !strings.HasPrefix(m.Addr(), "localhost:") || strings.HasSuffix(m.Addr(), ":0") {
		t.Errorf("advertised %s", m.Addr())
	}
}

// The channel numbers are on the wire: they never change.
func TestChannelOf(t *testing.T) {
	if got := ChannelOf("replicator/backend"); got != 0x45a3e183081a93d7 {
		t.Errorf("%v", got)
	}
	if got := ChannelOf(""); got != 0xcbf29ce484222325 {
		t.Errorf("%v", got)
	}
}

func TestStrings(t *testing.T) {
	for i := range Drops {
		if strings.HasPrefix(i.String(), "drop") || i.String() == "" {
			t.Errorf("reason %d has no name", i)
		}
	}
	for r := RefusedCluster; r < reasons; r++ {
		if strings.HasPrefix(r.String(), "reason") {
			t.Errorf("reason %d has no name", r)
		}
	}
	s := Stats{FramesOut: 3, LinksUp: 1}
	s.Dropped[DropPacket] = 2
	want := "frames-out=3 bytes-out=0 writes=0 resent=0 frames-in=0 bytes-in=0 reads=0 " +
		"dials=0 dial-errors=0 accepted=0 links-up=1 readers=0 streams=0 dropped-packet=2"
	if s.String() != want {
		t.Errorf("%s", s)
	}
	e := LinkEvent{Peer: 0xAB, Lane: Data, Stripe: 2, Generation: 4, Err: errLost}
	if got := e.String(); got != "ab/data/2 down generation 4: transport: connection closed by the other side" {
		t.Errorf("%s", got)
	}
}

// The times of Config are those of the connections.
func TestNetworkHasTheTimesOfConfig(t *testing.T) {
	n := Config{KeepAlive: 7 * time.Second, WriteTimeout: 11 * time.Second}.WithDefaults().Network
	if want := (tcp.Network{KeepAlive: 7 * time.Second, UserTimeout: 11 * time.Second}); n != want {
		t.Errorf("%+v, want %+v", n, want)
	}
}
