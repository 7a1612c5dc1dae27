package etcd_test

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/etcd"
	"github.com/coterie-go/coterie/ddata/locks/etcd/etcdtest"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/ddata/transport/faulty"
)

// lines are the connections of a client, of which those that are there go dead at once.
type lines struct {
	wires *faulty.Wires
	age   atomic.Int64
}

func newLines(t testing.TB) *lines {
	l := &lines{wires: faulty.New(1)}
	t.Cleanup(l.wires.Close)
	return l
}

func (l *lines) name(age int64) string { return fmt.Sprint("client ", age) }

// option has a client use the lines.
func (l *lines) option(c *clientv3.Config) {
	dial := func(ctx context.Context, addr string) (net.Conn, error) {
		return l.wires.At(l.name(l.age.Load()), transport.TCP()).Dial(ctx, addr)
	}
	c.DialOptions = append(c.DialOptions, grpc.WithContextDialer(dial))
}

// die stops what is sent on all connections that are there to some addresses, without an end.
func (l *lines) die(addrs []string) {
	age := l.age.Add(1) - 1
	for _, addr := range addrs {
		l.wires.CutBoth(l.name(age), addr)
	}
}

// All connections go dead, time and again, and new ones do not. The holder keeps the lease.
func TestDeadConnections(t *testing.T) {
	t.Parallel()
	const ttl = 3
	addrs, lines := etcdtest.Start(t, 1).Addrs(), newLines(t)
	l := drill.Door(t, open(t, "p", ttl, addrs, lines.option), "me")
	lost := drill.Acquire(t, l)
	for range 3 {
		lines.die(addrs)
		drill.Eventually(t, "the lease is renewed", func() bool {
			return !l.Until().Before(time.Now().Add(ttl*time.Second/2)) || len(lost) > 0
		})
		drill.Renewed(t, l, ttl*time.Second)
	}
	if len(lost) > 0 {
		t.Error("lost:", <-lost)
	}
}

// An etcd whose answers take too long for renewals is refused, with both times and a TTL that would
// do. That TTL does.
func TestSlowEtcdIsRefused(t *testing.T) {
	t.Parallel()
	addrs, lines := etcdtest.Start(t, 1).Addrs(), newLines(t)
	lines.wires.SetAll(faulty.Weather{Delay: 100 * time.Millisecond})
	client := etcdtest.Dial(t, addrs, lines.option)
	_, err := etcd.Open(t.Context(), client, etcd.Config{Prefix: "p", TTL: time.Second})
	says(t, err, locks.ErrUnusable, "raise Config.TTL to 4s")
	says(t, err, locks.ErrUnusable, "has 250ms, a quarter of Config.TTL")
	l := drill.Door(t, open(t, "p", 4, addrs, lines.option), "me")
	lost := drill.Acquire(t, l)
	drill.Renewed(t, l, 4*time.Second)
	if len(lost) > 0 {
		t.Error("lost:", <-lost)
	}
}
